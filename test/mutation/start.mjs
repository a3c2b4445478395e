import { join } from 'node:path'
import { importBundled, root, temporaryFolder } from '../support/run/bundle.mjs'

process.chdir(root)
const main = join(import.meta.dirname, 'main.ts')
const { runMutation } = await importBundled(temporaryFolder('mutation'), { main })
await runMutation(process.argv.slice(2))
