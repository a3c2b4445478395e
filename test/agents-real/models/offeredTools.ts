interface Offered {
  name: string
  description?: string
  schema: Schema
}
interface Schema {
  type?: unknown
  items?: Schema
  properties?: Record<string, Schema>
  anyOf?: Schema[]
  [keyword: string]: unknown
}

/**
 * Checks the board's tools against the limits of model services: OpenAI accepts 128 functions, names of 64 characters,
 * descriptions of 1,024, an object without alternatives at the top, lists with items and no references; Anthropic takes names of fields
 * of 64 characters. https://platform.openai.com/docs/api-reference/chat/create, https://docs.anthropic.com/en/api/messages
 */
export function refusedTools(body: { tools?: unknown[] }): string[] {
  const tools = (body.tools ?? []).flatMap(each => offeredIn(each as Fields))
  const own = tools.filter(({ name }) => /board/.test(name))
  return [
    ...(tools.length > 128 ? [`${tools.length} tools`] : []),
    ...own.flatMap(tool => problemsOf(tool).map(problem => `${tool.name}: ${problem}`)),
  ]
}

type Fields = Record<string, any>

/** A tool in the format of each protocol; a tool in a namespace has both names. */
function offeredIn(tool: Fields, prefix = ''): Offered[] {
  if (tool.type === 'namespace') return tool.tools.flatMap((each: Fields) => offeredIn(each, `${tool.name}__`))
  if (tool.functionDeclarations) return tool.functionDeclarations.flatMap((each: Fields) => offeredIn(each))
  const { name, description, input_schema, parameters, parametersJsonSchema } = (tool.function ?? tool) as Fields
  const schema = input_schema ?? parametersJsonSchema ?? parameters
  return name && schema ? [{ name: `${prefix}${name}`, description, schema }] : []
}

function problemsOf({ name, description = '', schema }: Offered): string[] {
  const atTop = ['anyOf', 'oneOf', 'allOf', 'not', 'enum'].filter(keyword => keyword in schema)
  return [
    ...(/^[a-zA-Z0-9_-]{1,64}$/.test(name) ? [] : ['its name']),
    ...(description.length > 1024 || description === '' ? [`a description of ${description.length} characters`] : []),
    ...(schema.type === 'object' ? [] : [`${String(schema.type)} at the top`]),
    ...atTop.map(keyword => `${keyword} at the top`),
    ...problemsIn(schema, 'input'),
  ]
}

function problemsIn(schema: Schema, path: string): string[] {
  const parts = [
    ...Object.entries(schema.properties ?? {}),
    ...(schema.items ? [['[]', schema.items] as const] : []),
    ...(schema.anyOf ?? []).map((each, at) => [`anyOf ${at}`, each] as const),
  ]
  return [
    ...('$ref' in schema ? [`${path} is a reference`] : []),
    ...(schema.type === 'array' && !schema.items ? [`${path} is a list of nothing`] : []),
    ...(schema.type === undefined && !schema.anyOf ? [`${path} has no type`] : []),
    ...Object.keys(schema.properties ?? {})
      .filter(name => !/^[a-zA-Z0-9_.-]{1,64}$/.test(name))
      .map(name => `${path}.${name} has such a name`),
    ...parts.flatMap(([name, part]) => problemsIn(part, `${path}.${name}`)),
  ]
}
