import { execFileSync } from 'node:child_process'

/** What Git prints in a folder, as somebody of the tests. */
export const gitIn = (path: string, ...args: string[]): string =>
  execFileSync('git', ['-C', path, '-c', 'user.name=T', '-c', 'user.email=t@example.org', ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim()
