/** The parts of the contract for clients that are built without schemas: four fields of each row, and the status of an error. */
import { build } from 'esbuild'
import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Resource -> call -> how its input is sent. */
export async function rowsOfContract() {
  const { contract } = await bundled('src/contract/index.ts')
  const asked = ({ method, path, body, transfer, input }) => ({ method, path, body, transfer, input: input && true })
  const askedOf = resource => Object.fromEntries(Object.entries(resource).map(([name, row]) => [name, asked(row)]))
  return Object.fromEntries(Object.entries(contract).map(([name, resource]) => [name, askedOf(resource)]))
}

/** A module that replaces src/contract/errors.ts, because responses include their messages. */
export async function statusesOfErrors() {
  const { errors } = await bundled('src/contract/errors.ts')
  const said = Object.entries(errors).flatMap(([code, [status, text]]) =>
    status === 401 ? [[code, [status, text]]] : [403, 429].includes(status) || status >= 500 ? [[code, [status]]] : [],
  )
  return `export const errors=${JSON.stringify(Object.fromEntries(said))}`
}

/** The file that replaces another one in browsers, if there is one: X.browser.ts for X.ts, as in `moduleSuffixes`. */
export function browserVariant(path, importer) {
  const other = resolve(dirname(importer), path.replace(/\.ts$/, '.browser.ts'))
  return existsSync(other) ? other : undefined
}

/** Imports a module of the sources. */
export async function bundled(path) {
  const { outputFiles } = await build({
    entryPoints: [path],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
  })
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`)
}
