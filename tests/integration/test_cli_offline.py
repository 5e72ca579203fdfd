# SPDX-License-Identifier: Apache-2.0
"""What the hearsay command and its library do without any server: help, names, completion."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import conftest

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ["deposit", "query", "watch", "here", "get", "withdraw", "report", "import", "export", "hosts", "ping",
            "channel", "known", "summary", "profile", "context", "admin"]
ADMIN = ["stats", "hosts", "list", "restore", "hide", "remove", "log", "wait", "ban", "unban", "bans",
         "accept", "notice", "notices", "check", "backup", "compact", "reload", "log-level", "pin", "feed",
         "similar"]
NESTED = [f"admin {name}" for name in ADMIN]


def run(*args):
    env = {k: v for k, v in os.environ.items() if k != "HEARSAY_SERVER"}
    done = subprocess.run([conftest.program(conftest.HEARSAY), *args], capture_output=True,
                          text=True, check=False, env=env, timeout=60, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def options_of(command):
    """The long options that the help of a command names."""
    code, out, err = run(*command.split(), "--help")
    assert code == 0 and err == ""
    return set(re.findall(r"^  (?:-\w, |    )(--[a-z-]+)", out, re.MULTILINE))


def common_options():
    """Those of every command, which stand in one place only."""
    code, out, err = run("help", "connection")
    assert code == 0 and err == ""
    return set(re.findall(r"^  (?:-\w, |    )(--[a-z-]+)", out, re.MULTILINE))


def test_connection_options_stand_once():
    """`hearsay help connection` has them; the help of a command has one line for them."""
    common = common_options()
    assert {"--server", "--tls", "--pin", "--ca", "--cert", "--key", "--timeout", "--help",
            "--version"} <= common
    for command in COMMANDS + NESTED:
        _, out, _ = run(*command.split(), "--help")
        assert not common & options_of(command), command
        assert out.count("hearsay help connection") == 1


def test_help_lists_all_commands():
    """The general help has every command, and fits a terminal."""
    code, out, _ = run("--help")
    assert code == 0
    assert re.findall(r"^  ([a-z]+)  +[a-z]", out.split("Options")[0], re.MULTILINE) == COMMANDS
    assert max(map(len, (out + run("help", "connection")[1]).splitlines())) <= 80
    assert run("help") == (0, out, "")
    version = run("--version")
    assert version[0] == 0 and re.fullmatch(r"hearsay \d+\.\d+\.\d+\n", version[1])
    assert run("ping", "--version") == version


def test_help_lists_the_administrators_commands():
    """So does that of admin, and a wrong one is named with the nearest."""
    code, out, _ = run("admin", "--help")
    assert code == 0
    listed = out.split("Commands:")[1].split("Options")[0]
    assert re.findall(r"^  ([a-z-]+)  +[a-z]", listed, re.MULTILINE) == ADMIN
    code, out, err = run("admin", "stast")
    assert (code, out) == (2, "") and 'did you mean "stats"?' in err
    code, out, err = run("admin")
    assert (code, out) == (2, "") and "a command is missing" in err


@pytest.mark.parametrize("command", COMMANDS + NESTED)
def test_help_of_a_command(command):
    """Usage, options and examples; lines of at most 80 columns but for the usage; the same by both ways."""
    code, out, _ = run(*command.split(), "--help")
    assert code == 0 and f"Usage: hearsay {command}" in out and "Examples:" in out
    assert [line for line in out.splitlines() if len(line) > 80 and not line.startswith("Usage: ")] == []
    assert run("help", *command.split()) == (0, out, "")


def test_mistyped():
    """What is wrong is named, with the nearest that there is."""
    cases = {
        ("qeury",): 'there is no command "qeury"; did you mean "query"?',
        ("stats",): 'there is no command "stats"; did you mean "hearsay admin stats"?',
        ("admin", "export"): 'there is no command "export"; did you mean "hearsay export"?',
        ("frobnicate",): 'there is no command "frobnicate"',
        ("--sevrer", "x", "ping"): "there is no option --sevrer; did you mean --server?",
        ("query", "--lable", "x"): "there is no option --lable; did you mean --label?",
        ("query", "-z"): "there is no option -z",
        ("query", "-k", "-1"): '--count: "-1" is not a number from 1 to 4294967295',
        ("deposit", "-l", "a:b", "--ttl", "90"): "a duration such as 90s, 15m, 2h or 3d",
        ("--timeout", "2d", "ping"): "--timeout",
        ("ping", "\x1b[2J"): r"\x1b[2J",
        ("--timeout", "30d", "ping"): '"30d" is not a duration from 1ms to 24h',
    }
    for args, said in cases.items():
        code, out, err = run(*args)
        assert (code, out) == (2, "") and said in err, (args, err)
        assert "--help" in err and "\x1b" not in err


def test_no_far_fetched_suggestions():
    """Another word is not taken for a mistyped option."""
    for args in (("admin", "ban", "--reason", "spam"), ("admin", "ban", "--because", "spam")):
        code, out, err = run(*args)
        assert (code, out) == (2, "") and f"there is no option {args[2]}\n" in err, err


def manual_of(page, command):
    """What hearsay(1) says of a command, and of the options that several commands have."""
    parts = [rf"^\.Ss (?:{command}|Contexts|Groups|Epochs)\n.*?(?=^\.S[sh])", rf"^\.Cm {command}\b.*?(?=^\.Nm|^\.Sh)"]
    if command in NESTED:
        parts = [rf"^\.It Cm {command}\b.*?(?=^\.It Cm admin|^\.S[sh])"]
    return "\n".join(text for part in parts for text in re.findall(part, page, re.MULTILINE | re.DOTALL))


def test_manual_has_all_options():
    """Every option of every command is in hearsay(1), where it tells of the command."""
    page = (ROOT / "client/man/hearsay.1").read_text(encoding="utf-8").replace("\\-", "-")
    lacking = [f"hearsay {option}" for option in common_options() if f"Fl {option[1:]}" not in page]
    for command in COMMANDS + NESTED:
        _, out, _ = run(*command.split(), "--help")
        text = manual_of(page, command)
        for short, option in re.findall(r"^  (?:-(\w), |    )--([a-z-]+)", out, re.MULTILINE):
            if not re.search(rf"Fl (?:-{option}{f'|{short}' if short else ''})(?![\w-])", text):
                lacking.append(f"hearsay {command} --{option}")
    assert lacking == [], "client/man/hearsay.1 must tell of these options, where it tells of the command"


def test_manual_has_all_choices():
    """An option that hearsay(1) describes with its choices has the same ones in the help of each command."""
    page = (ROOT / "client/man/hearsay.1").read_text(encoding="utf-8").replace("\\-", "-")
    described = {f"--{option}": choices.replace(" ", "") for option, choices in
                 re.findall(r"^\.It .*Fl -([a-z-]+) Cm ([a-z |-]+)$", page, re.MULTILINE)}
    assert "--order" in described
    for command in COMMANDS + NESTED:
        _, out, _ = run(*command.split(), "--help")
        for option, choices in re.findall(r"(--[a-z-]+) ([a-z-]+(?:\|[a-z-]+)+)(?: |$)", out, re.MULTILINE):
            assert described.get(option, choices) == choices, (command, option)


def test_manual_has_all_keys_of_import():
    page = (ROOT / "client/man/hearsay.1").read_text(encoding="utf-8")
    described = re.findall(r"^\.It Va (\w+)", page[page.index(".Ss import"):page.index(".Ss export")], re.MULTILINE)
    code = (ROOT / "client/cli/input/record.c").read_text(encoding="utf-8")
    keys = re.search(r"\bkeys\[\] = \{(.*?)NULL", code, re.DOTALL)[1]
    assert set(re.findall(r'"(\w+)"', keys)) - {"payload_base64"} <= {*described}


def test_manual_has_all_keys_of_a_result():
    page = (ROOT / "client/man/hearsay.1").read_text(encoding="utf-8")
    described = re.findall(r"^\.It (Va .*)", page[page.index(".Ss JSON"):page.index(".Sh ENV")], re.MULTILINE)
    code = (ROOT / "client/cli/term/out.c").read_text(encoding="utf-8").split("json_t *out_json_result(")[1]
    assert {"type", "host"} <= set(re.findall(r'&object,\s+"(\w+)"', code)) - {"payload_omitted"} \
        <= set(re.findall(r"\w+", " ".join(described)))


def test_the_manuals_synopsis():
    """Each way to call it begins with the command's name and stands in a line of its own."""
    mandoc = shutil.which("mandoc")
    if not mandoc:
        pytest.skip("no mandoc here")
    page = subprocess.run([mandoc, "-T", "ascii", "-O", "width=300",
                           str(ROOT / "client/man/hearsay.1")], capture_output=True, text=True,
                          check=True, timeout=60).stdout
    page = re.sub(".\b", "", page)
    synopsis = page.split("SYNOPSIS\n")[1].split("\nDESCRIPTION")[0]
    calls = [line.strip() for line in synopsis.strip().splitlines()]
    assert all(line.startswith("hearsay ") for line in calls), synopsis
    assert [line for line in calls if line.startswith("hearsay channel ")] == [
        "hearsay channel save name context ... [option ...]",
        "hearsay channel list [--json]",
        "hearsay channel remove name",
    ]


def completions(file, function, line, *, directory=None, path=None):
    """What bash offers at the end of a command line, which it splits as readline does."""
    bash = shutil.which("bash")
    if not bash:
        pytest.skip("no bash here")
    script = f"""
        source "$1"; COMP_LINE=$2; COMP_POINT=${{#2}}; shift 2
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); {function}; printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    words = [piece for word in line.split(" ") for piece in (re.findall(r"[:=]+|[^:=]+", word) or [""])]
    done = subprocess.run([bash, "-c", script, "bash", str(ROOT / file), line, *words],
                          capture_output=True, text=True, check=True, timeout=60, cwd=directory,
                          env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}"} if path else None)
    return set(done.stdout.split())


def test_hearsayd_completes(tmp_path):
    """All options of hearsayd that its help names, and the words and files that they take."""
    out = subprocess.run([conftest.program(conftest.HEARSAYD), "--help"], capture_output=True,
                         text=True, check=True, timeout=60).stdout
    options = set(re.findall(r"^  (--[a-z-]+)", out, re.MULTILINE))
    bash = "daemon/completion/hearsayd.bash"
    zsh = (ROOT / "daemon/completion/_hearsayd").read_text(encoding="utf-8")
    assert completions(bash, "_hearsayd", "hearsayd --") == options and len(options) > 8
    assert all(option in zsh for option in options)
    assert completions(bash, "_hearsayd", "hearsayd --log-level de") == {"debug"}
    assert completions(bash, "_hearsayd", "hearsayd --durability=r") == {"relaxed"}
    (tmp_path / "some.conf").touch()
    for line in ("hearsayd --config some", "hearsayd --config=some"):
        assert completions(bash, "_hearsayd", line, directory=tmp_path) == {"some.conf"}


@pytest.fixture(name="hearsay_path")
def _hearsay_path(tmp_path):
    """A directory with the program as `hearsay`: the completions read its help."""
    path = tmp_path / "bin"
    path.mkdir()
    (path / "hearsay").symlink_to(os.path.abspath(conftest.program(conftest.HEARSAY)))
    return path


def test_bash_completes(tmp_path, hearsay_path):
    """Every command, every option of it, and what options and arguments take."""
    def complete(*words):
        return completions("client/completion/hearsay.bash", "_hearsay", " ".join(["hearsay", *words]),
                           directory=tmp_path, path=hearsay_path)

    (tmp_path / "some.conf").touch()
    files = {"bin", "some.conf"}
    common = common_options()
    assert complete("") == {*COMMANDS, "help"}
    assert complete("--server", "x", "q") == {"query"}
    assert complete("--server", "127.0.0.1:7117", "q") == {"query"}
    assert complete("--server=127.0.0.1:7117", "q") == {"query"}
    assert complete("help", "con") == {"connection", "context"}
    assert complete("query", "-o", "") == complete("query", "--order=") == {"similarity", "time", "newest"}
    assert complete("query", "--time", "") == {"now"}
    assert complete("query", "--count", "") == set()
    assert complete("query", "--unseen", "") == complete("query", "--unseen=") == files
    assert complete("import", "--state", "x", "") == complete("admin", "pin", "") == files
    assert complete("channel", "") == {"save", "list", "remove"}
    assert complete("known", "") == {"remove"}
    assert complete("admin", "") == {*ADMIN}
    assert complete("admin", "accept", "--host", "x", "") == {"open", "review", "closed", "auto"}
    for command in COMMANDS + NESTED:
        assert complete(*command.split(), "--") == options_of(command) | common


def test_zsh_completes(hearsay_path):
    """The same options, each with its help, as zsh's _arguments is given them."""
    zsh = shutil.which("zsh")
    if not zsh:
        pytest.skip("no zsh here")
    script = """
        setopt extendedglob
        functions[complete]=$(sed '$d' $1) # without the call at the end
        complete
        _call_program() { shift; "$@"; }
        shift
        _hearsay_help "$@"
        _hearsay_places
        print -rl -- $specs
    """
    for command in ("query", "admin list", "known"):
        done = subprocess.run([zsh, "-f", "-c", script, "zsh", str(ROOT / "client/completion/_hearsay"),
                               *command.split()], capture_output=True, text=True, check=True, timeout=60,
                              env={**os.environ, "PATH": f"{hearsay_path}:{os.environ['PATH']}"})
        specs = done.stdout.splitlines()
        assert done.stderr == ""
        assert {*re.findall(r"(--[a-z-]+)=?\[", done.stdout)} == options_of(command)
        if command == "query":
            assert "(-o --order)-o[similarity: nearest first; time: those by time; newest: the newest]" \
                ":similarity|time|newest:(similarity time newest)" in specs
            assert "--contains=[only" in done.stdout and "*-c[only messages" in done.stdout
        if command == "admin list":
            assert [spec for spec in specs if "--pending[" in spec] == [
                "(--reported --pending --hidden --all)--pending[those that wait for review]"]
        if command == "known":
            assert specs[-2:] == ["1:remove:(remove)", "2:argument: "]


def declared_in(header):
    """The functions of libhearsay that a header declares."""
    text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL)
    return set(re.findall(r"\b(hearsay_\w+)\(", text))


def test_headers_stand_alone(tmp_path):
    """hearsay.h and each of its parts are C11 and C++, as installed."""
    include = tmp_path / "include"
    shutil.copytree(ROOT / "client/hearsay", include / "hearsay")
    shutil.copy(ROOT / "client/hearsay.h", include)
    proto = ROOT / "proto"  # messages.h is made, and takes the place of the header of the tree
    subprocess.run([sys.executable, "-B", proto / "generate.py", proto / "hearsay.proto", proto / "bridge.proto",
                    tmp_path], check=True, timeout=60)
    shutil.copy(tmp_path / "messages.h", include / "hearsay")
    headers = ["hearsay.h"] + [f"hearsay/{path.name}" for path in (include / "hearsay").iterdir()]
    assert len(headers) > 5
    codes = [line.strip() for header in headers for line in (include / header).read_text("utf-8").splitlines()
             if "RATE_LIMITED = " in line]
    assert codes == ["HEARSAY_CODE_RATE_LIMITED = 10,"], "the server's codes have one name"
    for compiler, source, flags in (("cc", "t.c", ["-std=c11"]), ("c++", "t.cc", ["-std=c++17"])):
        if not shutil.which(compiler):
            continue
        for header in headers:
            file = tmp_path / source
            file.write_text(f"#include <{header}>\nint main(void) {{ return 0; }}\n")
            subprocess.run([compiler, *flags, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I",
                            str(include), "-fsyntax-only", str(file)], check=True, timeout=60)


def test_pkgconfig_gives_no_flags_of_others():
    """Who compiles against libhearsay gets where its headers are, and no macro of a library that it uses inside."""
    folder = Path(conftest.binary(conftest.HEARSAY)).parents[1] / "meson-private"
    if not shutil.which("pkg-config") or not (folder / "hearsay.pc").exists():
        pytest.skip("no pkg-config, or no build directory")
    env = {**os.environ, "PKG_CONFIG_PATH": str(folder)}
    flags = subprocess.run(["pkg-config", "--cflags", "hearsay"], env=env, capture_output=True, text=True, check=True,
                           timeout=60).stdout.split()
    assert [flag for flag in flags if not flag.startswith("-I")] == []


def test_every_file_says_the_same_version():
    """Packages of another version than their programs would not be upgraded, or not refused."""
    version = re.escape(run("--version")[1].split()[-1])
    for file, says in {
        "meson.build": f"version: '{version}'",
        "CITATION.cff": f'version: "{version}"',
        "NEWS.md": rf"# NEWS\n\n## {version}",
        "packaging/debian/changelog": rf"\Ahearsay \({version}-",
        "packaging/openwrt/hearsay/Makefile": f"PKG_VERSION:={version}\n",
        "packaging/openwrt/luci-app-hearsay/Makefile": f"PKG_VERSION:={version}\n",
    }.items():
        assert re.search(says, (ROOT / file).read_text()), file


def test_library_exports_what_its_headers_declare():
    """hearsay.map, the headers and the shared library have the same names: none missing, none more."""
    declared = set().union(*map(declared_in, (ROOT / "client/hearsay").glob("*.h")))
    listed = set(re.findall(r"^    (hearsay_\w+);$", (ROOT / "client/hearsay.map").read_text(),
                            flags=re.MULTILINE))
    assert listed == declared
    library = Path(conftest.binary(conftest.HEARSAY)).parent / "libhearsay.so"
    if not library.exists() or not shutil.which("nm"):
        pytest.skip("no shared library beside the command, or no nm")
    table = subprocess.run(["nm", "-D", "--defined-only", str(library)], capture_output=True,
                           text=True, check=True, timeout=60).stdout
    exported = {line.split()[-1].split("@")[0] for line in table.splitlines()}
    assert exported - {"HEARSAY_0"} == declared  # the version itself is a symbol, too
