import type { Command } from 'commander'
import { events } from '../src/contract/events.ts'
import { openContext, type Context } from './context.ts'
import { readSettings } from './profiles.ts'
import { boardsOf, columnsOf, type Named } from './resolve.ts'

/** Something that may stand where the cursor is. */
export interface Candidate { value: string; about?: string }
type Source = (context: Context) => Promise<Candidate[]>

const mostCards = 200

/** What a placeholder of the help (`<column>`) stands for, by its name without the plural's s. */
const sources: Record<string, Source> = {
  project: async ({ client, external }) => external ? [] : named(await client.projects.list(), project => project.path),
  board: async context => named(await boardsOf(context, (await context.project()).id)),
  column: columnCandidates,
  card: cardCandidates,
  agent: async ({ client, external }) => external ? [] : (await client.agents.providers()).map(({ id, name }) => ({ value: id, about: name })),
  monitor: async ({ client, project }) => (await client.monitors.listProject({ projectId: (await project()).id })).map(({ id, description, command }) => ({ value: id, about: description ?? command })),
  script: async ({ client, project }) => named(await client.scripts.list({ projectId: (await project()).id })),
  webhook: async ({ client, project }) => (await client.webhooks.list({ projectId: (await project()).id })).map(({ id, url }) => ({ value: id, about: url })),
  template: async ({ client }) => named(await client.templates.list()),
  key: async ({ client }) => named(await client.keys.list(), key => key.scope),
  credential: async ({ client }) => named(await client.credentials.list(), credential => credential.provider),
  backup: async ({ client }) => (await client.backups.list()).map(({ filename, origin }) => ({ value: filename, about: origin })),
  user: async ({ client }) => (await client.users.list({ limit: 100 })).users.map(({ id, email }) => ({ value: id, about: email })),
  organization: async ({ client }) => named(await client.organizations.list()),
}

/** What this program knows itself. */
const known: Record<string, () => Candidate[]> = {
  profile: () => Object.entries(readSettings().profiles ?? {}).map(([value, { url }]) => ({ value, about: url })),
  type: () => Object.keys(events).map(value => ({ value })),
}

/**
 * The values of this moment for a placeholder; none where it stands for free text.
 * @throws whatever keeps the server from answering
 */
export async function liveValues(program: Command, placeholder: string, withinMs: number): Promise<Candidate[]> {
  const name = placeholder.replace(/s$/, '')
  if (Object.hasOwn(known, name)) return known[name]!()
  const source = Object.hasOwn(sources, name) ? sources[name] : undefined
  if (!source) return []
  program.setOptionValue('timeout', withinMs / 1000)
  return source(await openContext(program))
}

/** By name where the name is a plain word and means this one; else by id, with the name as its description. */
function named<T extends Named>(items: readonly T[], about: (item: T) => string | undefined = () => undefined, rivals: (item: T) => readonly T[] = () => items): Candidate[] {
  const isPlain = (item: T) => /^[A-Za-z][A-Za-z0-9._-]*$/.test(item.name) && rivals(item).filter(({ name }) => name.toLowerCase() === item.name.toLowerCase()).length === 1
  return items.map(item => isPlain(item) ? { value: item.name, about: about(item) } : { value: item.id, about: item.name })
}

/** A name on the default board means the column there, whatever other boards have. */
async function columnCandidates(context: Context): Promise<Candidate[]> {
  const { id: projectId } = await context.project()
  const [[first], columns] = await Promise.all([boardsOf(context, projectId), columnsOf(context, projectId)])
  const onDefault = columns.filter(({ boardId }) => boardId === first?.id)
  return named(columns, ({ columnType }) => columnType, column => onDefault.includes(column) ? onDefault : columns)
}

/** The project's first cards, by id. */
async function cardCandidates(context: Context): Promise<Candidate[]> {
  const { id: projectId } = await context.project()
  const cards = context.external ? (await context.client.external.list({ projectId, limit: 100 })).items : await context.client.cards.list({ projectId, limit: mostCards })
  return cards.map(({ id, title }) => ({ value: String(id), about: title }))
}
