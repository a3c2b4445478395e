import { build } from 'esbuild'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

// Node 20 cannot run TypeScript.
const here = import.meta.dirname
const root = resolve(here, '../..')
const folder = mkdtempSync(join(tmpdir(), 'board-pictures-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))

symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
await build({
  entryPoints: [join(here, 'main.ts')],
  outfile: join(folder, 'main.mjs'),
  bundle: true,
  format: 'esm',
  platform: 'node',
  packages: 'external',
  logLevel: 'warning',
})
const { takePictures } = await import(pathToFileURL(join(folder, 'main.mjs')).href)
await takePictures({
  folder,
  board: join(root, 'bin', 'board.js'),
  agent: join(root, 'test', 'fixtures', 'agents', 'shop.mjs'),
  pictures: join(root, 'docs', 'pictures'),
})
