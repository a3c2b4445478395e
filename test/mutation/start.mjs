import { build } from 'esbuild'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

// Node 20 cannot run TypeScript.
const here = import.meta.dirname
const root = resolve(here, '../..')
const folder = mkdtempSync(join(tmpdir(), 'board-mutation-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))

process.chdir(root)
symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
await build({
  entryPoints: [join(here, 'main.ts')],
  outfile: join(folder, 'main.mjs'),
  bundle: true,
  packages: 'external',
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  logLevel: 'warning',
})
const { runMutation } = await import(pathToFileURL(join(folder, 'main.mjs')).href)
await runMutation(process.argv.slice(2))
