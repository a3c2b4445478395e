import { spawn, type ChildProcess } from 'node:child_process'
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'

const depths = ['a', 'b', 'c']
/** The folder whose parents `raceAll` swaps as well. It has `file-0` and `file-1`, and each folder also exists below `outside`. */
export const deepestFolder = depths.join('/')

const racers: ChildProcess[] = []

/** Swaps a name with another one as a sandboxed program, until `endRace`. */
export async function race(root: string, folder: string, name: string, other: string): Promise<void> {
  const program = join(import.meta.dirname, '../../fixtures/attacks/exchange.pl')
  const bwrapArguments = [
    '--ro-bind',
    '/',
    '/',
    '--dev',
    '/dev',
    '--bind',
    root,
    root,
    '--unshare-pid',
    '--die-with-parent',
  ]
  const command = ['bwrap', ...bwrapArguments, 'perl', program, folder, name, other]
  const racer = spawn('nice', ['-n', '5', ...command], { stdio: ['ignore', 'pipe', 'inherit'] })
  racers.push(racer)
  await once(racer.stdout, 'data')
}

/**
 * Swaps folders and links to those in `outside`, files and links, and files and folders at each depth of a folder. The deepest
 * begin.
 */
export async function raceAll(root: string, outside: string): Promise<void> {
  const folder = join(root, deepestFolder)
  symlinkSync(join(outside, deepestFolder, 'file-0'), join(folder, 'file-link'))
  mkdirSync(join(folder, 'file-folder'))
  const parents = depths.map((_, at) => join(root, ...depths.slice(0, at)))
  for (const [at, name] of depths.entries())
    symlinkSync(join(outside, ...depths.slice(0, at + 1)), join(parents[at]!, `${name}-link`))
  await race(root, folder, 'file-0', 'file-link')
  await race(root, folder, 'file-1', 'file-folder')
  for (const [at, name] of [...depths.entries()].reverse()) await race(root, parents[at]!, name, `${name}-link`)
}

export const isRacing = (): boolean => racers.length > 0

export const endRace = (): void => {
  for (const racer of racers.splice(0)) racer.kill('SIGKILL')
}

/** Everything in a folder, and its content. */
export function listContent(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .map(entry => {
      const path = join(entry.parentPath, entry.name)
      const content = entry.isFile() ? readFileSync(path, 'utf8') : entry.isSymbolicLink() ? readlinkSync(path) : ''
      return `${path} ${lstatSync(path).mode} ${content}`
    })
    .sort()
}
