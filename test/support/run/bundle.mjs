import { build } from 'esbuild'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

export const root = resolve(import.meta.dirname, '../../..')

/** Creates a folder that is removed when the process exits. */
export function temporaryFolder(name, parent = tmpdir()) {
  const folder = mkdtempSync(join(parent, `board-${name}-`))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
  return folder
}

/** Bundles TypeScript files into the folder, because Node 20 cannot run TypeScript, and imports the file `main`. */
export async function importBundled(folder, entryPoints, options = { packages: 'external' }) {
  await build({
    entryPoints,
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    logLevel: 'warning',
    ...options,
  })
  return import(pathToFileURL(join(folder, 'main.mjs')).href)
}

/** The options for a bundle with a server, which must run as shipped. */
export const asShipped = {
  external: ['libsql', '@libsql/*', '@node-rs/argon2', 'jq-wasm'],
  define: { 'process.env.NODE_ENV': '"production"' },
  banner: { js: "import{createRequire as boardRequire}from'node:module';const require=boardRequire(import.meta.url);" },
}
