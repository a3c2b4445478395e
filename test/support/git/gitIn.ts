import { execFileSync } from 'node:child_process'

/** Runs Git in a folder with a fixed author, and returns its output. */
export const gitIn = (path: string, ...args: string[]): string =>
  execFileSync('git', ['-C', path, '-c', 'user.name=T', '-c', 'user.email=t@example.org', ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim()
