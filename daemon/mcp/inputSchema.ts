import type { GenericSchema } from 'valibot'
import { paramsOf } from '../../src/contract/paths.ts'
import type { Route } from '../../src/contract/route.ts'
import { paramSchema, plainInQuery } from '../documents/openapiOperation.ts'
import { inputSchema } from '../documents/openapiSchemas.ts'
import type { Schema } from '../documents/openapiTypes.ts'

/** The input schema of a tool. */
export interface ToolInput {
  type: 'object'
  properties: Record<string, Schema>
  required: string[]
  additionalProperties: false
}

/** The argument name of a path parameter. The ID of a project is always `projectId`. */
export const argumentOf = ({ who }: Route, param: string): string =>
  param === 'id' && who.kind === 'member' && who.through === 'id' ? 'projectId' : param

/** The input of a row as a tool: its path parameters, and the fields of its query or body. */
export function inputOf(route: Route): ToolInput {
  const fields = route.input ? objectOf(route.input) : { properties: {}, required: [] }
  const params = paramsOf(route.path).map(param => [argumentOf(route, param), paramSchema(route, param)] as const)
  const full = { type: 'boolean', default: false, description: 'Return all fields and complete texts.' } as Schema
  return {
    type: 'object',
    properties: {
      ...Object.fromEntries(params),
      ...withUsual(fields.properties, route.tool?.usual ?? {}),
      ...(route.tool?.does === 'reads' && { full }),
    },
    required: [...params.map(([name]) => name), ...fields.required],
    additionalProperties: false,
  }
}

/** The fields of a schema of an object, plain enough for every model. */
export function objectOf(schema: GenericSchema): { properties: Record<string, Schema>; required: string[] } {
  const { properties = {}, required = [] } = inputSchema(schema)
  return {
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, field]) => [name, simplifySchema(field as Schema)]),
    ),
    required,
  }
}

const idPattern = '^[1-9]\\d{0,15}$'

/**
 * Describes IDs as text only and numbers as numbers, although a query accepts both. A constant becomes a choice with one typed value,
 * because some model services do not support `const` and reject values without a type.
 */
function simplifySchema(field: Schema): Schema {
  const { anyOf, const: only, ...rest } = field
  if (only !== undefined) return { ...rest, type: typeof only, enum: [only] } as Schema
  const options = (anyOf ?? []) as Schema[]
  const id = options.find(({ pattern }) => pattern === idPattern)
  if (id) return withNull(options, { ...rest, ...id })
  if (options.length > 0 && options.every(({ type, pattern }) => type !== 'null' && (type || pattern)))
    return plainInQuery(field)
  return {
    ...rest,
    ...(anyOf && { anyOf: options.map(simplifySchema) }),
    ...(field.items && { items: simplifySchema(field.items as Schema) }),
    ...(field.properties && {
      properties: Object.fromEntries(
        Object.entries(field.properties).map(([name, each]) => [name, simplifySchema(each as Schema)]),
      ),
    }),
  } as Schema
}

const withNull = (options: readonly Schema[], schema: Schema): Schema =>
  options.some(({ type }) => type === 'null') ? { anyOf: [schema, { type: 'null' }] } : schema

const withUsual = (properties: Record<string, Schema>, usual: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [
      name,
      Object.hasOwn(usual, name) ? ({ ...schema, default: usual[name] } as Schema) : schema,
    ]),
  )
