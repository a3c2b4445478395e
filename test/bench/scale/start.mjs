import { join } from 'node:path'
import { asShipped, importBundled, root, temporaryFolder } from '../../support/run/bundle.mjs'

const here = import.meta.dirname
const folder = temporaryFolder('scale')
const entryPoints = { main: join(here, 'main.ts'), server: join(here, '..', 'server.ts') }
const { runScale } = await importBundled(folder, entryPoints, asShipped)
await runScale({
  folder,
  board: join(root, 'bin', 'board.js'),
  testsFolder: join(root, 'test'),
  flood: join(root, 'test', 'fixtures', 'agents', 'flood.mjs'),
  measuredFile: join(here, 'measured.json'),
  argv: process.argv.slice(2),
})
