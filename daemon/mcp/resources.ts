import { ErrorCode, McpError, type Resource, type ResourceTemplate } from '@modelcontextprotocol/sdk/types.js'
import type { Session } from './session.ts'
import { callRow } from './rowTools.ts'
import { escapeInvisible, visibleJson } from './visible.ts'
import { isForModel } from './recoveryHints.ts'

const scheme = 'board://projects'
const mimeType = 'application/json'
/** How many projects are listed; the others are found by list_projects and search. */
const maxListed = 100

/** A resource that can be read by URI, with the tool that reads it and the same permissions. */
interface Kind {
  tool: string
  name: string
  title: string
  description: string
  path: string
  given: Readonly<Record<string, unknown>>
}
const kinds: readonly Kind[] = [
  {
    tool: 'list_cards',
    name: 'cards',
    title: 'Cards of a project',
    description: 'The first cards of a project, in short form.',
    path: '{projectId}/cards',
    given: {},
  },
  {
    tool: 'get_card',
    name: 'card',
    title: 'A card',
    description: 'A card with its full text.',
    path: '{projectId}/cards/{cardId}',
    given: { full: true },
  },
  {
    tool: 'read_diff',
    name: 'diff',
    title: 'The changes of a card',
    description: 'The changes of a card since its base commit.',
    path: '{projectId}/cards/{cardId}/diff',
    given: { full: true },
  },
  {
    tool: 'read_transcript',
    name: 'transcript',
    title: 'The transcript of a card',
    description: "The latest messages of a card's agent, in short form.",
    path: '{projectId}/cards/{cardId}/transcript',
    given: {},
  },
]
const pattern = /^board:\/\/projects\/([1-9]\d{0,15})\/cards(?:\/([1-9]\d{0,15})(?:\/(diff|transcript))?)?$/

export const cardUri = (projectId: string, cardId: string): string => `${scheme}/${projectId}/cards/${cardId}`
export const diffUri = (projectId: string, cardId: string): string => `${cardUri(projectId, cardId)}/diff`
export const cardsUri = (projectId: string): string => `${scheme}/${projectId}/cards`

/** The text of a resource, as data; or the answer of another machine to the message. */
export type Read = { contents: { uri: string; mimeType: string; text: string } } | { passed: Response }

/** Returns the URI templates that these tools can read. */
export const templatesFor = (tools: ReadonlySet<string>): ResourceTemplate[] =>
  kinds
    .filter(({ tool }) => tools.has(tool))
    .map(({ name, title, description, path }) => ({
      uriTemplate: `${scheme}/${path}`,
      name,
      title,
      description,
      mimeType,
    }))

/** The caller's projects, each by the address of its cards. */
export async function listResources(session: Session, message: unknown): Promise<Resource[]> {
  const { app, call, rows } = session
  const done = await callRow(app, call, rows.get('list_projects')!, {}, message)
  if ('passed' in done) return []
  return (done.answer.items as Array<{ id: string; name: string }>).slice(0, maxListed).map(({ id, name }) => ({
    uri: cardsUri(id),
    name: `project-${id}`,
    title: escapeInvisible(name),
    mimeType,
  }))
}

/**
 * Reads the resource of a URI with its tool: with the same permissions, limits and escapes.
 * @param tools the tools that the caller can use
 * @throws McpError if the URI is unknown, or if the caller cannot read it
 */
export async function readResource(
  { app, call, rows }: Session,
  tools: ReadonlySet<string>,
  uri: string,
  message: unknown,
): Promise<Read> {
  const [, projectId, cardId, part] = pattern.exec(uri) ?? []
  const kind =
    projectId === undefined ? undefined : kinds.find(({ name }) => name === (part ?? (cardId ? 'card' : 'cards')))
  if (!kind || !tools.has(kind.tool)) throw notFound(uri)
  try {
    const given = { projectId, ...(cardId !== undefined && { cardId }), ...kind.given }
    const done = await callRow(app, call, rows.get(kind.tool)!, given, message)
    return 'passed' in done ? done : { contents: { uri, mimeType, text: visibleJson(done.answer) } }
  } catch (error) {
    if (!isForModel(error)) throw error
    if (error.status === 404) throw notFound(uri)
    const code = error.status < 500 ? ErrorCode.InvalidParams : ErrorCode.InternalError
    throw new McpError(code, escapeInvisible(error.message), { code: error.code })
  }
}

/** The protocol's error code for a missing resource. */
const resourceNotFound = -32_002
const notFound = (uri: string) =>
  new McpError(resourceNotFound, 'The resource does not exist.', { uri: uri.slice(0, 200) })
