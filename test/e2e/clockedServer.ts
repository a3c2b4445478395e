import { readFileSync } from 'node:fs'
import { serveWith } from './serveWith.ts'

/** The server as it is shipped, but that its clock shows what stands in a file. */
await serveWith({ clock: () => new Date(readFileSync(process.env.CLOCK_FILE!, 'utf8')) })
