"""Every command keeps the names, aliases and options that scripts use."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest
from tests.cli.conftest import Det

from determined.cli import declare, main, nouns

CONTRACT = Path(__file__).parents[1] / "data" / "cli.txt"
# Deliberately omitted, see docs/differences.md.
LEFT_OUT = {"auth", "oauth", "deploy aws"}


def _first(line: str) -> str:
    return line.split()[1].split("|")[0]


def _command_words(line: str) -> list[str]:
    found = []
    for word in line.split()[1:]:
        if not re.match(r"[a-z]", word):
            break
        found.append(word)
    return found


def _options(line: str) -> set[str]:
    rest = re.sub(r"<[^>]*>|\{[^}]*\}", "", line.split("det ", 1)[1])
    return set(re.findall(r"(?<![\w.=-])(--?[A-Za-z][\w.-]*)", rest))


def _positionals(line: str) -> list[str]:
    return [name.rstrip("?.") for name in re.findall(r"(?<!=)<([^ >]+)[^>]*>", line)]


def _is_group(action: argparse.Action) -> bool:
    return isinstance(action, argparse._SubParsersAction)


def _children(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    return next(
        dict(a.choices) for a in parser._actions if isinstance(a, argparse._SubParsersAction)
    )


def contract_lines() -> list[str]:
    lines = []
    for line in CONTRACT.read_text().splitlines():
        words = [word.split("|")[0] for word in _command_words(line)]
        is_left_out = {words[0], " ".join(words[:2])} & LEFT_OUT if words else True
        if not is_left_out and words[-1] != "help":
            lines.append(line)
    return lines


def leaves(command: declare.Command, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    here = (*path, command.name)
    if not command.commands:
        return [here]
    return [here] + [leaf for child in command.commands for leaf in leaves(child, here)]


ALL = [leaf for noun in nouns.load_all() for leaf in leaves(noun)]


@pytest.mark.parametrize("line", contract_lines())
def test_a_command_of_the_contract_has_its_aliases_and_options(line: str) -> None:
    parser: argparse.ArgumentParser = main.build_parser(nouns.load(_first(line)))
    for word in _command_words(line):
        children = _children(parser)
        names = word.split("|")
        assert set(names) <= set(children), f"{names} of {line!r}"
        parser = children[names[0]]
        assert all(children[name] is parser for name in names)
    options = {flag for action in parser._actions for flag in action.option_strings}
    assert _options(line) <= options
    positionals = [a.dest for a in parser._actions if not a.option_strings and not _is_group(a)]
    assert positionals == _positionals(line)


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_prints_its_help(det: Det, path: tuple[str, ...]) -> None:
    outcome = det(*path, "--help")
    assert outcome.status == 0
    assert outcome.out.startswith(f"usage: det {' '.join(path)}")


@pytest.mark.parametrize("noun", nouns.load_all(), ids=lambda noun: noun.name)
def test_every_command_names_a_function_that_exists(noun: declare.Command) -> None:
    pending = [noun]
    while pending:
        command = pending.pop()
        pending += command.commands
        assert bool(command.run) != bool(command.commands)
        if command.run:
            assert callable(declare.load(command.run))


def test_the_help_command_prints_the_help_of_its_group(det: Det) -> None:
    assert det("experiment", "help").out.startswith("usage: det experiment")
    assert det("help").out.startswith("usage: det ")


def test_an_empty_command_line_prints_the_help(det: Det) -> None:
    outcome = det()
    assert outcome.status == 0
    assert "manage experiments" in outcome.out


def test_an_unknown_noun_is_wrong_usage_and_lists_the_known_ones(det: Det) -> None:
    outcome = det("nosuch")
    assert outcome.status == 2
    assert "invalid choice: 'nosuch'" in outcome.err
    assert "'experiment'" in outcome.err or "experiment" in outcome.err


def test_an_unknown_command_is_wrong_usage(det: Det) -> None:
    assert det("experiment", "nosuch").status == 2


@pytest.mark.parametrize(
    ("words", "usage", "hint"),
    [
        (("experimnt", "list"), "usage: det ", "did you mean experiment?"),
        (("e", "descrbe", "1"), "usage: det experiment ", "did you mean describe?"),
        (
            ("e", "create", "c", ".", "--folow"),
            "usage: det experiment create ",
            "mean --follow-first-trial?",
        ),
        (
            ("e", "create", "c", ".", "--confg=a"),
            "usage: det experiment create ",
            "mean --config?",
        ),
        (("job", "--jsn"), "usage: det job list ", "did you mean --json?"),
        (("exp", "list"), "usage: det ", "did you mean experiment?"),
    ],
)
def test_a_mistyped_word_gets_a_suggestion(
    det: Det, words: tuple[str, ...], usage: str, hint: str
) -> None:
    outcome = det(*words)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith(usage)
    assert hint in outcome.err


def test_a_mistake_is_not_below_a_screen_of_options(det: Det) -> None:
    outcome = det("deploy", "aws", "up", "--cluster-id", "lab")
    assert (outcome.status, outcome.err) == (
        2,
        "usage: det deploy aws up --cluster-id CLUSTER_ID --keypair KEYPAIR ... "
        "(det deploy aws up --help lists options)\n"
        "det deploy aws up: error: the following arguments are required: --keypair\n",
    )


def test_a_text_in_place_of_a_number_is_named(det: Det) -> None:
    outcome = det("experiment", "list", "--limit", "ten")
    assert outcome.status == 2
    assert outcome.err.endswith(
        "error: argument --limit: must be a whole number, but found 'ten'\n"
    )


def test_a_missing_argument_is_wrong_usage(det: Det) -> None:
    assert det("experiment", "describe").status == 2


@pytest.mark.parametrize("flag", ["-v", "--version"])
def test_the_version_option_prints_name_and_version(det: Det, flag: str) -> None:
    outcome = det(flag)
    assert outcome.status == 0
    assert re.fullmatch(r"det \d+\.\d+\.\d+\S*\n", outcome.out)


def test_options_before_the_noun_do_not_hide_it() -> None:
    args = main._parse(["-u", "experiment", "-m", "trial", "user", "whoami"])
    assert (args.user, args.master, args.command) == ("experiment", "trial", "user")


def test_only_the_named_noun_is_imported() -> None:
    parser = main.build_parser(nouns.load("agent"))
    assert "list" in _children(_children(parser)["agent"])
    assert not any(a for a in _children(parser)["experiment"]._actions if _is_group(a))
