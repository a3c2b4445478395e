import { execFileSync } from 'node:child_process'

/** Copies a seeded board to a libSQL server, like a user who moves it. */
export function moveTo(url: string, program: string, dataDir: string): void {
  execFileSync(
    process.execPath,
    [program, 'database', 'move', '--to', url, '--replace', '--yes', '--machine', 'bench', '--data-dir', dataDir],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
}
