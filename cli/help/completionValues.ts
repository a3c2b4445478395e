import type { Command } from 'commander'
import { listOffers, type AgentScope } from '../agents/offers.ts'
import { openContext, type Context } from '../context/context.ts'
import { readSettings } from '../context/profiles.ts'
import { listBoards, listColumns, resolveOrganization, resolveWebhook, type Named } from '../context/resolve.ts'

/** A candidate for the word at the cursor. */
export interface Candidate {
  value: string
  about?: string
}
/** The position of the cursor: the command, and the argument that is being completed. */
export interface Place {
  command: Command
  given: readonly string[]
  /** The values of the options before the cursor. */
  options: Readonly<Record<string, unknown>>
}
type Source = (context: Context, place: Place) => Promise<Candidate[]>

const maxCards = 200
const maxNewest = 100

/** The values of a placeholder in the help (`<column>`), by its singular name. */
const sources: Record<string, Source> = {
  project: async ({ client, external }) =>
    external ? [] : candidatesByName(await client.projects.list(), project => project.path),
  board: async context => candidatesByName(await listBoards(context, (await context.project()).id)),
  column: columnCandidates,
  card: cardCandidates,
  label: labelCandidates,
  attachment: async ({ client, project }) =>
    (await client.attachments.listProject({ projectId: (await project()).id, limit: maxNewest })).items.map(
      ({ id, filename }) => ({ value: id, about: filename }),
    ),
  session: sessionCandidates,
  message: async ({ client, external, project }) =>
    external
      ? []
      : (await client.agents.slashCommands({ projectId: (await project()).id })).map(({ name, description }) => ({
          value: `/${name}`,
          about: description,
        })),
  agent: async ({ client, external }) =>
    external ? [] : (await client.agents.providers()).map(({ id, name }) => ({ value: id, about: name })),
  'agent-profile': async ({ client, external }) =>
    external ? [] : (await client.agentProfiles.list()).map(({ name, agent }) => ({ value: name, about: agent })),
  model: agentOffers('models'),
  mode: agentOffers('modes'),
  effort: agentOffers('efforts'),
  monitor: async ({ client, project }, { given: [card] }) =>
    (await client.monitors.listProject({ projectId: (await project()).id }))
      .filter(({ cardId }) => cardId === card)
      .map(({ id, description, command }) => ({ value: id, about: description ?? command })),
  gate: async ({ client, project }) => candidatesByName(await client.gates.list({ projectId: (await project()).id })),
  item: async ({ client }, { command }) =>
    (await client.inbox.list({ state: command.name() === 'reopen' ? 'done' : 'open' })).items.map(
      ({ id, cardTitle }) => ({ value: id, about: cardTitle }),
    ),
  script: async ({ client, project }) =>
    candidatesByName(await client.scripts.list({ projectId: (await project()).id })),
  schedule: async ({ client, project }) =>
    candidatesByName(await client.schedules.list({ projectId: (await project()).id })),
  webhook: async ({ client, project }) =>
    (await client.webhooks.list({ projectId: (await project()).id })).map(({ id, url }) => ({ value: id, about: url })),
  delivery: deliveryCandidates,
  template: async ({ client }) => candidatesByName(await client.templates.list()),
  key: async ({ client }) => candidatesByName(await client.keys.list(), key => key.scope),
  credential: async ({ client }) =>
    candidatesByName(await client.credentials.list(), credential => credential.provider),
  budget: async ({ client }) =>
    (await client.budgets.list({})).map(({ id, scope, scopeName, unit, period }) => ({
      value: id,
      about: `${scope} ${scopeName}: ${unit}, ${period}`,
    })),
  backup: async ({ client }) =>
    (await client.backups.list()).map(({ filename, origin }) => ({ value: filename, about: origin })),
  user: async ({ client }) =>
    (await client.users.list({ limit: 100 })).users.map(({ id, email }) => ({ value: id, about: email })),
  organization: async ({ client }) => candidatesByName(await client.organizations.list()),
  member: memberCandidates,
  person: personCandidates,
  people: personCandidates,
}

/** The values that are available without a server. */
const known: Record<string, () => Candidate[] | Promise<Candidate[]>> = {
  method: () => ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map(value => ({ value })),
  profile: () => Object.entries(readSettings().profiles ?? {}).map(([value, { url }]) => ({ value, about: url })),
  type: async () => Object.keys((await import('../../src/contract/server/events.ts')).events).map(value => ({ value })),
}

/**
 * Returns the current values of a placeholder. Empty for free text.
 * @throws any error that prevents the server from answering
 */
export async function liveValues(
  program: Command,
  placeholder: string,
  place: Place,
  withinMs: number,
): Promise<Candidate[]> {
  const name = singular(placeholder)
  if (Object.hasOwn(known, name)) return known[name]!()
  const source = Object.hasOwn(sources, name) ? sources[name] : undefined
  if (!source) return []
  program.setOptionValue('timeout', withinMs / 1000)
  return source(await openContext(program), place)
}

/** Returns whether the values of a placeholder can be listed. */
export const isListed = (placeholder: string): boolean =>
  Object.hasOwn(sources, singular(placeholder)) || Object.hasOwn(known, singular(placeholder))

const singular = (placeholder: string): string => placeholder.replace(/ies$/, 'y').replace(/s$/, '')

/**
 * Offers the name if it is a plain word and unambiguous. Otherwise, offers the ID, with the name as its description.
 */
function candidatesByName<T extends Named>(
  items: readonly T[],
  about: (item: T) => string | undefined = () => undefined,
  rivals: (item: T) => readonly T[] = () => items,
): Candidate[] {
  const isPlain = (item: T) =>
    /^[A-Za-z][A-Za-z0-9._-]*$/.test(item.name) &&
    rivals(item).filter(({ name }) => name.toLowerCase() === item.name.toLowerCase()).length === 1
  return items.map(item =>
    isPlain(item) ? { value: item.name, about: about(item) } : { value: item.id, about: item.name },
  )
}

/** A name on the default board selects its column there, even if other boards have a column of the same name. */
async function columnCandidates(context: Context): Promise<Candidate[]> {
  const { id: projectId } = await context.project()
  const [[first], columns] = await Promise.all([listBoards(context, projectId), listColumns(context, projectId)])
  const onDefault = columns.filter(({ boardId }) => boardId === first?.id)
  return candidatesByName(
    columns,
    ({ columnType }) => columnType,
    column => (onDefault.includes(column) ? onDefault : columns),
  )
}

/** The users that cards can be assigned to. */
async function personCandidates({ client, project }: Context): Promise<Candidate[]> {
  const people = await client.members.people({ projectId: (await project()).id })
  return [
    { value: 'me' },
    ...candidatesByName(people.map(({ userId, displayName }) => ({ id: userId, name: displayName }))),
  ]
}

/** The project's first cards, by ID: archived ones for `unarchive`, deleted ones for `restore`. */
async function cardCandidates(context: Context, { command }: Place): Promise<Candidate[]> {
  const found =
    command.name() === 'restore'
      ? await context.client.cards.listDeleted({ projectId: (await context.project()).id, limit: maxCards })
      : await firstCards(context, command.name() === 'unarchive')
  return found.map(({ id, title }) => ({
    value: String(id),
    about: title,
  }))
}

async function firstCards(
  { client, external, project }: Context,
  archived = false,
): Promise<{ id: string | number; title: string; labels: string[] }[]> {
  const { id: projectId } = await project()
  return external
    ? (await client.external.list({ projectId, limit: 100 })).items
    : client.cards.list({ projectId, limit: maxCards, ...(archived && { archived: 'true' }) })
}

/** The labels of the project's first cards. */
async function labelCandidates(context: Context): Promise<Candidate[]> {
  return [...new Set((await firstCards(context)).flatMap(({ labels }) => labels))].sort().map(value => ({ value }))
}

/** The sessions of the named card, otherwise the project's pre-sessions. */
async function sessionCandidates(
  { client, project }: Context,
  { command, given: [cardId] }: Place,
): Promise<Candidate[]> {
  const { id: projectId } = await project()
  if (command.parent?.name() === 'presession')
    return (await client.preSessions.list({ projectId, limit: maxNewest })).items.map(session => ({
      value: session.sessionId,
      about: `card ${session.cardId}, ${session.status}`,
    }))
  return cardId === undefined
    ? []
    : (await client.agents.sessions({ projectId, cardId })).map(({ sessionId, agent, status }) => ({
        value: sessionId ?? '',
        about: `${agent ?? ''}, ${status}`,
      }))
}

/** The people of the current project, or of the named organization, by the IDs of their accounts. */
async function memberCandidates(context: Context, { given: [organization] }: Place): Promise<Candidate[]> {
  const { client } = context
  const people =
    organization === undefined
      ? await client.members.list({ id: (await context.project()).id })
      : await client.organizations.listMembers({ id: (await resolveOrganization(context, organization)).id })
  return people.flatMap(({ userId, email }) => (userId === null ? [] : [{ value: userId, about: email }]))
}

/** The item that the first argument of a command selects, by placeholder, if it determines the agent. */
const nearest: Readonly<Record<string, keyof AgentScope>> = {
  cards: 'card',
  column: 'column',
  project: 'project',
  'agent-profile': 'profile',
}

/** Returns the known models, modes or efforts of the selected agent. */
function agentOffers(kind: 'models' | 'modes' | 'efforts'): Source {
  return async (context, { command, given, options }) => {
    if (context.external) return []
    const { agent, agentProfile, column } = options as Record<string, string | undefined>
    const named = command.registeredArguments[0]?.name() ?? ''
    const meant = { agent, profile: agentProfile, column, ...(named in nearest && { [nearest[named]!]: given[0] }) }
    return (await listOffers(context, meant))[kind].map(({ id, name }) => ({ value: id, about: name }))
  }
}

async function deliveryCandidates(context: Context, { given: [webhook = ''] }: Place): Promise<Candidate[]> {
  const { projectId, webhookId } = await resolveWebhook(context, webhook)
  return (await context.client.webhooks.deliveries({ projectId, webhookId, limit: maxNewest })).items.map(
    ({ id, type, status }) => ({ value: id, about: `${type}, ${status}` }),
  )
}
