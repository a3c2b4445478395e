import { html, type Html } from './html.ts'
import { errors } from '../../src/contract/errors.ts'
import type { DocumentedAnswer, OpenApiDocument, Operation, Parameter, Schema } from './openapiTypes.ts'
import { page } from './htmlPage.ts'

/** Renders the API's document as a page: routes by resource, with permitted callers, parameters, bodies and answers. */
export function docsPage(document: OpenApiDocument): Response {
  const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const sections = document.tags.map(
    ({ name }) =>
      html`<h2 id="${name}">${name}</h2>${routes.filter(({ operation }) => operation.tags[0] === name).map(routeDetails)}`,
  )
  return page(
    `${document.info.title} API`,
    html`
<h1>${document.info.title} API ${document.info.version}</h1>
${document.info.description
  .replaceAll('`', '')
  .split('\n\n')
  .map(text => html`<p>${text}</p>`)}
<p>Everything below is also one <a href="openapi.json">OpenAPI document</a>.</p>
<nav>${document.tags.map(({ name }) => html`<a href="#${name}">${name}</a> `)}<a href="#records">records</a> <a href="#errors">errors</a></nav>
${sections}
<h2 id="records">records</h2>
${Object.entries(document.components.schemas).map(([name, schema]) => html`<details id="record-${name}"><summary><code>${name}</code></summary>${schemaText(schema)}</details>`)}
<h2 id="errors">errors</h2>
<table>${Object.entries(errors).map(([code, [status, message]]) => html`<tr><td>${status}</td><td>${code}</td><td>${message}</td></tr>`)}</table>`,
  )
}

const routeDetails = ({ path, method, operation }: { path: string; method: string; operation: Operation }) => html`
<details id="${operation.operationId}"><summary><b>${method.toUpperCase()}</b> <code>${path}</code> <span>${operation.summary}</span></summary>
${`${operation.description} ${permissionText(operation)}`.split('\n\n').map(text => html`<p>${text}</p>`)}
${operation.parameters.length > 0 ? html`<h4>Parameters</h4><table>${operation.parameters.map(parameterRow)}</table>` : ''}
${Object.entries(operation.requestBody?.content ?? {}).map(([type, { schema }]) => html`<h4>Body, ${type}</h4>${schemaText(schema)}`)}
<h4>Responses</h4>
${Object.entries(operation.responses).map(([status, answer]) => (Number(status) < 400 ? answerText(status, answer) : html``))}
<table>${Object.entries(operation.responses).map(([status, { description }]) => (Number(status) < 400 ? html`` : html`<tr><td><a href="#errors">${status}</a></td><td>${description}</td></tr>`))}</table></details>`

const permissionText = ({ security }: Operation) => {
  const names = security.flatMap(({ apiKey }) => apiKey ?? [])
  return names.length > 0 ? `An API key requires ${names.join(' or ')}.` : ''
}

const parameterRow = ({ name, in: place, required, schema, description }: Parameter) =>
  html`<tr><td><code>${name}</code></td><td>${place}${required ? ', required' : ''}</td><td><code>${typeText(schema)}</code></td><td>${description}</td></tr>`

function answerText(status: string, answer: DocumentedAnswer): Html {
  const [type, content] = Object.entries(answer.content ?? {})[0] ?? []
  const data = content?.schema.properties?.data as Schema | undefined
  return html`<div><b>${status}</b> ${answer.description}${type === undefined ? '' : `, ${type}`}</div>${data ? schemaText(data) : ''}`
}

const schemaText = (schema: Schema) => html`<pre>${typeText(schema)}</pre>`

/** A schema in the notation of a TypeScript type, with the limits behind it. */
function typeText(schema: Schema, indent = ''): string {
  if (schema.$ref) return schema.$ref.split('/').at(-1)!
  if (schema.enum) return schema.enum.map(value => JSON.stringify(value)).join(' | ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.anyOf) return schema.anyOf.map(each => typeText(each as Schema, indent)).join(' | ')
  if (schema.type === 'array') return `Array<${typeText((schema.items ?? {}) as Schema, indent)}>${limitText(schema)}`
  if (schema.type === 'object') return objectText(schema, indent)
  return `${String(schema.type ?? 'any')}${limitText(schema)}`
}

function objectText({ properties, required = [] }: Schema, indent: string): string {
  if (!properties) return 'object'
  const lines = Object.entries(properties).map(
    ([name, schema]) =>
      `${indent}  ${name}${required.includes(name) ? '' : '?'}: ${typeText(schema as Schema, `${indent}  `)}${defaultText(schema as Schema)}`,
  )
  return `{\n${lines.join('\n')}\n${indent}}`
}

const defaultText = (schema: Schema) => (schema.default === undefined ? '' : ` = ${JSON.stringify(schema.default)}`)

function limitText({ minLength, maxLength, minimum, maximum, minItems, maxItems, format }: Schema): string {
  const range = [
    minLength ?? minimum ?? minItems,
    maxLength ?? (maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum) ?? maxItems,
  ]
  if (format) return ` (${format})`
  return range.every(value => value === undefined) ? '' : ` (${range[0] ?? ''}..${range[1] ?? ''})`
}
