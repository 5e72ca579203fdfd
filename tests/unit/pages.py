#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/try-pages: the pages of docs/operations have its form, and what is planted wrong is found.

The commands of the pages themselves need a machine of their own: `make check-release`.
"""
import importlib.machinery
import importlib.util
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = """# Title
## Section
```sh
echo one && echo two
```

```text
one
...
```
"""
PLANTED = {  # what is planted in PAGE: what try-pages must say
    ("echo two", "echo two"): True,
    ("echo two", "ehco two"): False,
    ("echo two", "false"): False,
    ("\none\n", "\nsix\n"): False,
    ("\none\n...\n", "\none\n"): False,
    ("\none\n...\n", "\no...e\ntw...\n"): True,
    ("```sh", "<!-- fails -->\n```sh"): False,
    ("```sh\necho one && echo two", "<!-- fails -->\n```sh\necho one && false"): True,
}
FORMLESS = ("```text\nno command\n```\n", "<!-- fails -->\ntext\n", "```\nwhat is it?\n```\n")


def load():
    loader = importlib.machinery.SourceFileLoader("try_pages", str(ROOT / "scripts/try-pages"))
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_loader("try_pages", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def main():
    tried = load()
    machine = tried.Machine(["bash", "-euc"])
    for (old, new), is_right in PLANTED.items():
        assert old in PAGE
        blocks = tried.blocks_of("page.md", PAGE.replace(old, new))
        assert [machine.try_block(block) for block in blocks] == [is_right], new
    for page in FORMLESS:
        try:
            tried.blocks_of("page.md", page)
        except SystemExit:
            continue
        raise AssertionError(f"try-pages takes {page!r}")
    count = len(tried.blocks_of_folder(ROOT / "docs/operations"))
    print(f"{count} blocks of docs/operations have the form that try-pages reads")


if __name__ == "__main__":
    main()
