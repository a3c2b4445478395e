import { Argument, type Command } from 'commander'
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { globalsOf } from '../parsing/globals.ts'
import { example } from '../help/help.ts'
import { createOutput } from '../output/createOutput.ts'

interface Shell {
  /** The file in completions/. */
  file: string
  /** Returns the path where the shell searches for the user's completions. */
  place: () => string
  /** Returns the next step after the script is installed. */
  next: (place: string) => string
}

const dataHome = () => process.env.XDG_DATA_HOME || join(homedir(), '.local', 'share')
const shells: Record<string, Shell> = {
  bash: {
    file: 'board.bash',
    place: () => join(dataHome(), 'bash-completion', 'completions', 'board'),
    next: () =>
      'New shells load it if the package bash-completion is installed. Without that package, add to ~/.bashrc: source <(board completion bash)',
  },
  zsh: {
    file: '_board',
    place: () => join(dataHome(), 'zsh', 'site-functions', '_board'),
    next: place => `Add to ~/.zshrc, before compinit: fpath=(${dirname(place)} $fpath)`,
  },
  fish: {
    file: 'board.fish',
    place: () => join(process.env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'fish', 'completions', 'board.fish'),
    next: () => 'New shells load it.',
  },
}

/** The folder above bin/board.js, wherever it is installed. */
const packageFolder = () => dirname(dirname(realpathSync(process.argv[1]!)))

export function register(command: Command): void {
  command
    .description('Print the completion script of a shell, or install it.')
    .addArgument(new Argument('<shell>', 'shell').choices(Object.keys(shells)))
    .option('--install', 'install the script in your completion folder')
    .action((name: string, { install }: { install?: boolean }) => {
      const { out } = createOutput(globalsOf(command))
      const { file, place, next } = shells[name]!
      const text = readFileSync(join(packageFolder(), 'completions', file), 'utf8')
      if (!install) return out.text(text)
      const path = place()
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
      out.line(path)
      out.done(next(path))
    })
  example(
    command,
    'board completion fish --install',
    'source <(board completion bash)',
    'board completion zsh > ~/.zsh/completions/_board',
  )
}
