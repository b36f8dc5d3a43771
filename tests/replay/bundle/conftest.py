"""What tests of hostile containers share."""

import pytest

from replay.bundle.reader import open_bundle
from replay.errors import BundleError
from tests.replay.bundle.made import pack_of


@pytest.fixture
def refused(tmp_path):
    """Packs these bytes, and gives the sentence of their refusal; nothing may be left of the attempt."""

    def attempt(data, *, limits=None, name="upload"):
        folder = tmp_path / "store"
        folder.mkdir(exist_ok=True)
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(BundleError) as caught:
            pack_of(path, folder / "out.pack", limits=limits)
        assert list(folder.iterdir()) == []
        sentence = str(caught.value)
        assert sentence.isprintable() and len(sentence) < 500
        assert caught.value.remedy and caught.value.path
        with pytest.raises(BundleError):
            open_bundle(path, limits)
        return sentence

    return attempt
