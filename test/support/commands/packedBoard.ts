import { copyFileSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { run } from './commandLine.ts'

const root = resolve(import.meta.dirname, '../../..')

export interface Packed {
  files: { path: string; size: number }[]
  /** In bytes. */
  size: number
  unpackedSize: number
}

/** The built files that `npm pack` includes in the package. */
export async function listPacked(): Promise<Packed> {
  const packed = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    env: { PATH: process.env.PATH! },
  })
  return (JSON.parse(packed.stdout) as [Packed])[0]
}

/** Copies the packed files to a folder, like an installation; `withDependencies`: next to the few packages that it requires. */
export async function unpackBoard(folder: string, { withDependencies }: { withDependencies: boolean }): Promise<void> {
  for (const { path } of (await listPacked()).files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    copyFileSync(join(root, path), join(folder, path))
  }
  if (!withDependencies) return
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  const owners = Object.keys(dependencies).map(name => name.split('/')[0]!)
  mkdirSync(join(folder, 'node_modules'))
  for (const name of new Set([...owners, 'detect-libc', '@libsql', '@neon-rs']))
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
}
