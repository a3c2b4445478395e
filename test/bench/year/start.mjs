import { build } from 'esbuild'
import { copyFileSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

// Node 20 cannot run TypeScript, and the measured server must run as shipped.
const here = import.meta.dirname
const root = resolve(here, '../../..')
const folder = mkdtempSync(join(process.env.BOARD_YEAR_FOLDER ?? tmpdir(), 'board-year-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))

symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
copyFileSync(join(root, 'dist', 'archiver.cjs'), join(folder, 'archiver.cjs'))
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
const { runYear } = await import(pathToFileURL(join(folder, 'main.mjs')).href)
await runYear({ folder, board: join(root, 'bin', 'board.js'), argv: process.argv.slice(2) })
