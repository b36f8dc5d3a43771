"""The recorder's page says what the code does: arguments, services, methods, commands, words and entries."""

import inspect
import re

import pytest

import clonoscope
from clonoscope import command, pytest_plugin, services, words
from clonoscope.adapters import spark, spark_daemon
from clonoscope.recording import start
from tests.docs.pages import table


def test_every_argument_of_start_is_documented() -> None:
    documented = table("recorder.md", "argument", "default", "meaning", section="`start`")
    wanted = [
        (name, "" if one.default is inspect.Parameter.empty else str(one.default))
        for name, one in inspect.signature(start).parameters.items()
    ]
    assert list(zip(documented.column("argument"), documented.column("default"), strict=True)) == wanted


def test_every_service_is_documented() -> None:
    documented = [one.partition("(")[0] for one in table("recorder.md", "service", "answers as").column("service")]
    public = [name for name in clonoscope.__all__ if getattr(services, name, None) is getattr(clonoscope, name)]
    assert sorted(documented) == sorted(public)


@pytest.mark.parametrize("name", ["take", "records", "take_range", "output", "state", "event"])
def test_methods_of_a_task_have_the_documented_arguments(name: str) -> None:
    (row,) = [one for one in table("recorder.md", "method", "records").column("method") if one.startswith(f"{name}(")]
    named = re.findall(r"\w+", row.partition("(")[2])
    assert set(named) <= set(inspect.signature(getattr(clonoscope.Task, name)).parameters) | {"…"}


def test_every_command_is_documented() -> None:
    documented = {one.split()[1] for one in table("recorder.md", "command", "does").column("command")}
    (commands,) = [one for one in command.parser()._actions if one.dest == "command"]
    assert documented == set(commands.choices or ())


def options_of(name: str) -> set[str]:
    (commands,) = [one for one in command.parser()._actions if one.dest == "command"]
    found = {option for one in commands.choices[name]._actions for option in one.option_strings}  # type: ignore[index]
    return found - {"-h", "--help"}


def test_every_option_of_replay_is_documented() -> None:
    assert set(table("recorder.md", "option of `replay`", "meaning").column("option of `replay`")) == options_of(
        "replay"
    )


def test_every_option_of_minimise_and_coverage_is_documented() -> None:
    shared = {"--app", "--task", "--attempt", "--records", "--only"}
    assert options_of("minimise") == {*shared, "--to"}
    own = table("recorder.md", "option of `coverage`", "meaning").column("option of `coverage`")
    assert set(own) == options_of("coverage") - shared


def test_the_setting_of_the_plugin_is_documented() -> None:
    (row,) = table("recorder.md", "setting of pytest", "default", "meaning").rows
    assert row[0].strip("`") == pytest_plugin.PATTERNS


def test_every_kind_of_word_and_of_entry_is_documented() -> None:
    kinds = table("recorder.md", "kind", "word", "holds")
    for number, name in zip(kinds.column("kind"), kinds.column("word"), strict=True):
        assert getattr(words, name) == int(number)
    assert [int(one) for one in kinds.column("kind")] == list(range(1, 8))
    types = table("recorder.md", "type", "entry")
    names = [one.strip("`").partition("`")[0] for one in types.column("entry")]
    assert [getattr(words, name) for name in names] == [int(one) for one in types.column("type")] == list(range(17))


def test_every_variable_of_sparks_daemon_is_documented() -> None:
    documented = table("recorder.md", "variable of the executors", "is").column("variable of the executors")
    assert documented == list(spark_daemon.VARIABLES)
    arguments = {spark_daemon.argument_of(name) for name in documented}
    assert arguments <= set(inspect.signature(spark.recorder).parameters)
