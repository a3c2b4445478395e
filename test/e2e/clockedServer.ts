import { readFileSync } from 'node:fs'
import { serveWith } from './serveWith.ts'

/** The shipped server with a clock that reads its time from a file. */
await serveWith({ clock: () => new Date(readFileSync(process.env.CLOCK_FILE!, 'utf8')) })
