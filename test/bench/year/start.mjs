import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { asShipped, importBundled, root, temporaryFolder } from '../../support/run/bundle.mjs'

const here = import.meta.dirname
const folder = temporaryFolder('year', process.env.BOARD_YEAR_FOLDER)
copyFileSync(join(root, 'dist', 'archiver.cjs'), join(folder, 'archiver.cjs'))
const entryPoints = { main: join(here, 'main.ts'), server: join(here, '..', 'server.ts') }
const { runYear } = await importBundled(folder, entryPoints, asShipped)
await runYear({ folder, board: join(root, 'bin', 'board.js'), argv: process.argv.slice(2) })
