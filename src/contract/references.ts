import { getMetadata, type GenericSchema } from 'valibot'
import type { NotFoundCode } from './errors.ts'
import type { Route } from './route.ts'

/** The fields of a route's path, query and body that name a row, each with the error code for a missing row. */
export function referencesOf({ notFound, input }: Route): Record<string, NotFoundCode> {
  const references: Record<string, NotFoundCode> = { ...notFound }
  for (const [field, schema] of Object.entries(entriesOf(input))) {
    const code = getMetadata(unwrap(schema)).notFound
    if (code !== undefined) references[field] = code as NotFoundCode
  }
  return references
}

const entriesOf = (schema: GenericSchema | undefined): Record<string, GenericSchema> => {
  const object = schema && unwrap(schema)
  return object && 'entries' in object ? (object.entries as Record<string, GenericSchema>) : {}
}

/** Returns a schema without the wrappers that make it optional or nullable. */
const unwrap = (schema: GenericSchema): GenericSchema =>
  'wrapped' in schema ? unwrap(schema.wrapped as GenericSchema) : schema
