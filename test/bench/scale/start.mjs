import { build } from 'esbuild'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

// Node 20 cannot run TypeScript, and the measured server must run as shipped.
const here = import.meta.dirname
const root = resolve(here, '../../..')
const folder = mkdtempSync(join(tmpdir(), 'board-scale-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))

symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
await build({
  entryPoints: { main: join(here, 'main.ts'), server: join(here, '..', 'server.ts') },
  outdir: folder,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  external: ['libsql', '@libsql/*', '@node-rs/argon2', 'jq-wasm'],
  define: { 'process.env.NODE_ENV': '"production"' },
  logLevel: 'warning',
  banner: { js: "import{createRequire as boardRequire}from'node:module';const require=boardRequire(import.meta.url);" },
})
const { runScale } = await import(pathToFileURL(join(folder, 'main.mjs')).href)
await runScale({
  folder,
  board: join(root, 'bin', 'board.js'),
  testsFolder: join(root, 'test'),
  flood: join(root, 'test', 'fixtures', 'agents', 'flood.mjs'),
  measuredFile: join(here, 'measured.json'),
  argv: process.argv.slice(2),
})
