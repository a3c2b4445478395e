/**
 * Builds the client that programs import as `board/client`: one for Node, one for browsers, and their types, which are generated
 * from the contract's schemas so that users of the package need no other package.
 */
import { build } from 'esbuild'
import { compile } from 'json-schema-to-typescript'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { format } from 'oxfmt'
import { browserVariant, bundled, rowsOfContract, statusesOfErrors } from './contractRows.mjs'

const entryPoints = { index: 'src/client/public.ts' }
const ownTypes = 'src/client/public.types.d.ts'

/** @returns the metafiles of the build, and the path of the types */
export async function buildClientPackage(folder, options) {
  // Node prints the source line of an uncaught error, which people read.
  const readable = { minify: false }
  const client = {
    ...options,
    ...readable,
    entryPoints,
    format: 'esm',
    splitting: true,
    chunkNames: 'parts/[name]-[hash]',
  }
  const rows = { name: 'contract-rows', setup: replaceContract(await rowsOfContract(), await statusesOfErrors()) }
  const [node, browser] = await Promise.all([
    build({
      ...client,
      outdir: join(folder, 'node'),
      plugins: [rows],
      // CommonJS packages in the bundle call require, which a module does not have.
      banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
    }),
    build({
      ...client,
      outdir: join(folder, 'browser'),
      platform: 'browser',
      target: 'es2023',
      plugins: [rows, { name: 'for-browsers', setup: useBrowserVariants }],
    }),
  ])
  const types = join(folder, 'index.d.ts')
  writeFileSync(types, await typesOfClient())
  return { metafiles: [node.metafile, browser.metafile], types }
}

function replaceContract(rows, errors) {
  const loaders = Object.entries(rows).map(([name, row]) => `${name}:async()=>(${JSON.stringify(row)})`)
  const resources = `export const resources={${loaders}}`
  return ({ onLoad }) => {
    onLoad({ filter: /\/src\/client\/resources\.ts$/ }, () => ({ contents: resources, loader: 'js' }))
    onLoad({ filter: /\/src\/contract\/errors\.ts$/ }, () => ({ contents: errors, loader: 'js' }))
  }
}

const useBrowserVariants = ({ onResolve }) =>
  onResolve({ filter: /^\..*\.ts$/ }, ({ path, importer }) => {
    const other = browserVariant(path, importer)
    return other && { path: other }
  })

/** Matches the generator's remarks about which types refer to each type, which are removed. */
const unsaid =
  /export interface Unused \{\n\}\n|\/\*\*\n( \* This (interface|type) was referenced by .*\n \* via the .*\n)+ \*\/\n/g

/** The declarations of the client: the handwritten ones, then each call, its input and its output. */
async function typesOfClient() {
  const [{ contract }, { events }, schemas] = await Promise.all(
    ['src/contract/index.ts', 'src/contract/server/events.ts', 'daemon/documents/openapiSchemas.ts'].map(bundled),
  )
  const definitions = schemas.recordSchemas()
  const resources = Object.entries(contract).map(([resource, rows]) => {
    const calls = Object.entries(rows).map(([call, row]) => {
      const name = capital(resource) + capital(call)
      const input = inputOf(row, schemas)
      if (input) definitions[`${name}Input`] = input
      if (answerOf(row, name).endsWith('Output')) definitions[`${name}Output`] = schemas.outputSchema(row.output)
      return `    ${comment(row.summary)}\n    ${call}(${parametersOf(row, name, input)}): Promise<${answerOf(row, name)}>`
    })
    return `  ${resource}: {\n${calls.join('\n')}\n  }`
  })
  for (const [type, { data }] of Object.entries(events)) definitions[dataName(type)] = schemas.outputSchema(data)
  const told = Object.keys(events).map(type => `  '${type}': ${dataName(type)}`)
  const records = await compile(withLocalRefs({ title: 'Unused', type: 'object', definitions }), 'Unused', {
    additionalProperties: false,
    bannerComment: '',
    format: false,
    unreachableDefinitions: true,
    strictIndexSignatures: true,
  })
  const text = [
    readFileSync(ownTypes, 'utf8'),
    `export interface Client {\n${resources.join('\n')}\n}`,
    `/** The data of each type of event. */\nexport interface Events {\n${told.join('\n')}\n}`,
    records.replace(unsaid, ''),
  ].join('\n\n')
  const { code, errors } = await format('index.d.ts', text, { printWidth: 120, semi: false, singleQuote: true })
  if (errors.length > 0) throw new Error(`The client's types do not parse: ${errors[0].message}`)
  return code
}

/** The input of a call: the parameters of the path, and the fields of the query or body. */
function inputOf({ path, input, integerIds }, { inputSchema }) {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
  if (names.length === 0 && !input) return undefined
  const ids = {
    type: 'object',
    properties: Object.fromEntries(names.map(name => [name, { type: integerIds ? 'number' : 'string' }])),
    required: names,
    additionalProperties: false,
  }
  if (!input) return ids
  const schema = inputSchema(input)
  if (schema.type !== 'object') return names.length === 0 ? schema : { allOf: [ids, schema] }
  return {
    ...schema,
    properties: { ...ids.properties, ...schema.properties },
    required: [...names, ...(schema.required ?? [])],
  }
}

function parametersOf({ transfer }, name, input) {
  const isOptional = transfer !== 'upload' && (input?.required ?? []).length === 0 && !input?.allOf
  const type = [input && `${name}Input`, transfer === 'upload' && '{ file: Upload }'].filter(Boolean).join(' & ')
  return `input${isOptional ? '?' : ''}: ${type || 'Record<string, never>'}, options?: CallOptions`
}

const answerOf = ({ transfer, output }, name) =>
  transfer === 'file' || transfer === 'raw' ? 'Download' : output ? `${name}Output` : 'void'

const withLocalRefs = schema => JSON.parse(JSON.stringify(schema).replaceAll('#/components/schemas/', '#/definitions/'))
const comment = text => `/** ${text.replaceAll('*/', '* /')}. */`
const dataName = type => `${type.split(/[._]/).map(capital).join('')}Data`
const capital = name => name[0].toUpperCase() + name.slice(1)
