"""`pinsweep completion`"""

from __future__ import annotations

import click

from pinsweep.terminal import data


@click.command(
    short_help="Print the script for Tab completion in bash, zsh or fish.",
    epilog='Example: eval "$(pinsweep completion bash)"',
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the script for Tab completion of commands, options, experiments, files, sweeps, axes and baselines.

    \b
    bash  eval "$(pinsweep completion bash)" in ~/.bashrc
    zsh   eval "$(pinsweep completion zsh)" in ~/.zshrc, below compinit
    fish  pinsweep completion fish > ~/.config/fish/completions/pinsweep.fish
    """
    from click.shell_completion import BashComplete, FishComplete, ZshComplete

    from pinsweep.cli import cli

    kind = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}[shell]
    data(kind(cli, {}, "pinsweep", "_PINSWEEP_COMPLETE").source(), nl=True)
