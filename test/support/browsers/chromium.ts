import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The path of the browser's program on this machine. Undefined if there is none. */
export const chromiumPath: string | undefined = ['chromium', 'chromium-browser', 'google-chrome']
  .flatMap(name => (process.env.PATH ?? '').split(delimiter).map(folder => join(folder, name)))
  .find(path => existsSync(path))
