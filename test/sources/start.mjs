import { join } from 'node:path'
import { importBundled, temporaryFolder } from '../support/run/bundle.mjs'

await importBundled(temporaryFolder('shape'), { main: join(import.meta.dirname, 'shape.ts') })
