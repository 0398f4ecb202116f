"""python -m generator BIN_FOLDER TARGET: builds the site in TARGET/html from docs/ and the programs in BIN_FOLDER."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

from generator import links, llms, pages, reference, stage


def fetched_from_elsewhere(target):
    """Yields the scripts, styles, fonts and pictures that a reader cannot load without a network."""
    for file in target.rglob("*.html"):
        for tag in re.findall(r"<(?:script|link|img|iframe|source)\b[^>]*>", file.read_text()):
            if re.search(r"""(?:src|href)=["']?(?:https?:)?//""", tag):
                yield f"{file.relative_to(target)}: {tag}"
    for file in target.rglob("*.css"):
        for url in re.findall(r"url\(\s*[\"']?((?:https?:)?//[^)\"']*)", file.read_text()):
            yield f"{file.relative_to(target)}: {url}"


def main(bin_folder, target):
    tony = reference.Program(pathlib.Path(bin_folder).resolve())
    target = pathlib.Path(target).resolve()
    dead, followed = links.dead_links(links.markdown_files())
    source, site = target / "source", target / "html"
    stage.Stage(tony, source).run()
    os.environ["TONY_VERSION"] = tony.says("version").split()[1]
    shutil.rmtree(site, ignore_errors=True)
    built = subprocess.run([sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "-j", "auto",
                            "-d", target / "doctrees", source, site], check=False)
    problems = [f"dead link: {each}" for each in dead]
    if built.returncode == 0:
        llms.write(source, site)
        problems += [f"loaded from another site: {each}" for each in fetched_from_elsewhere(site)]
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(pages.page_files())} pages, {followed} links in the repository's Markdown, {len(dead)} dead; {site}/index.html")
    return 1 if problems else built.returncode


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
