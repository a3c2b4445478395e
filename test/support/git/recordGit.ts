import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The Git commands of this process from now on, each as one line of arguments. */
export interface GitRuns {
  runs(): string[]
  stop(): void
}

/** Wraps Git with a program that records each run, in this folder. */
export function recordGit(folder: string): GitRuns {
  const { PATH } = process.env
  const [bin, log] = [join(folder, 'bin'), join(folder, 'runs')]
  mkdirSync(bin, { recursive: true })
  rmSync(log, { force: true })
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim()
  writeFileSync(join(bin, 'git'), `#!/bin/sh\necho "$*" >> '${log}'\nexec '${real}' "$@"\n`)
  chmodSync(join(bin, 'git'), 0o755)
  process.env.PATH = `${bin}:${PATH}`
  return {
    runs: () => (existsSync(log) ? readFileSync(log, 'utf8').trimEnd().split('\n') : []),
    stop: () => {
      process.env.PATH = PATH
    },
  }
}
