import { build } from 'esbuild'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

// Node 20 cannot run TypeScript.
const folder = mkdtempSync(join(tmpdir(), 'board-shape-'))
const outfile = join(folder, 'shape.mjs')
await build({
  entryPoints: [join(import.meta.dirname, 'shape.ts')],
  outfile,
  bundle: true,
  format: 'esm',
  platform: 'node',
})
try {
  await import(pathToFileURL(outfile).href)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
