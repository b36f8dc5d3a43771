"""The sentences that the code says about a faulty bundle, read out of its source."""

import ast
import re
from collections.abc import Iterator

from tests.docs.pages import ROOT

# Names of what is raised, or of what makes it; their literal argument is the sentence.
SAYERS = {
    "CorruptMember",
    "NoManifest",
    "CorruptDeterminant",
    "DeltaGap",
    "BundleError",
    "Reject",
    "refusal",
    "fault",
    "_fault",
}
MODULES_BY_SECTION = {
    "Containers": ("replay/bundle/containers.py", "replay/bundle/streams.py", "replay/bundle/tar_archive.py",
                   "replay/bundle/zip_archive.py", "replay/bundle/folder.py", "replay/bundle/folder_members.py"),
    "Names and limits": ("replay/bundle/names.py", "replay/bundle/limits.py", "replay/bundle/pack.py"),
    "Folders that are followed": ("replay/bundle/growing_folder.py", "dashboard/following.py"),
    "The manifest": ("replay/model/manifest_fields.py", "replay/model/graph.py", "replay/bundle/content.py"),
    "Members that the manifest does not know": ("replay/bundle/reader.py", "ingest/transforms/planning.py"),
    "Determinants": ("replay/log/codec.py",),
    "Frames, deltas and receipts": ("replay/bundle/frames.py", "replay/log/deltas.py", "replay/log/causal_log.py",
                                    "ingest/transforms/channels.py", "ingest/transforms/framing.py"),
    "Lines": ("replay/bundle/lines.py", "ingest/transforms/lines.py", "ingest/transforms/events.py"),
}  # fmt: skip


def said_in(section: str) -> set[str]:
    said = {sentence for module in MODULES_BY_SECTION[section] for sentence in _sentences(module)}
    # What only joins other sentences says nothing of its own.
    return {sentence for sentence in said if re.search("[a-z]", sentence)}


def _sentences(module: str) -> Iterator[str]:
    tree = ast.parse((ROOT / module).read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in SAYERS:
            yield from (_shape(argument) for argument in node.args if _is_sentence(argument))
        if isinstance(node, ast.FunctionDef) and node.name == "name_fault":
            returned = [one.value for one in ast.walk(node) if isinstance(one, ast.Return) and one.value is not None]
            yield from (_shape(value) for value in returned if _is_sentence(value) and ast.unparse(value) != "None")
        if (
            isinstance(node, ast.Assign)
            and ast.unparse(node.targets[0]) in ("why", "_CUT_SHORT")
            and _is_sentence(node.value)
        ):
            yield _shape(node.value)


def _is_sentence(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _shape(node: ast.expr) -> str:
    """What changes from case to case is shown as an ellipsis."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    text = "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts)
    return text.replace("……", "…")
