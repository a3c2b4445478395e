import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '../waiting/eventually.ts'

/** A replacement of the browser: it requests the given address, and records that and the redirect target. */
export function fakeBrowser(folder: string): {
  command: string
  visited(): Promise<{ asked: string; sentTo: string }>
} {
  const program = join(folder, 'browser.mjs')
  const seen = join(folder, 'browser.json')
  writeFileSync(
    program,
    `import { renameSync, writeFileSync } from 'node:fs'
const asked = process.argv[2]
const sentTo = (await fetch(asked, { redirect: 'manual' })).headers.get('location')
writeFileSync(${JSON.stringify(`${seen}.part`)}, JSON.stringify({ asked, sentTo }))
renameSync(${JSON.stringify(`${seen}.part`)}, ${JSON.stringify(seen)})
`,
  )
  return {
    command: `${process.execPath} ${program}`,
    visited: async () => {
      await eventually('the browser', () => existsSync(seen))
      return JSON.parse(readFileSync(seen, 'utf8')) as { asked: string; sentTo: string }
    },
  }
}
