import { activity } from './activity.ts'
import { agentProfiles } from './agentProfiles.ts'
import { agents } from './agents.ts'
import { audit } from './audit.ts'
import { assistant } from './assistant.ts'
import { attachments } from './attachments.ts'
import { auth } from './auth.ts'
import { backups } from './backups.ts'
import { boards } from './boards.ts'
import { branches } from './branches.ts'
import { forges } from './forge.ts'
import { budgets } from './budgets.ts'
import { cards } from './cards.ts'
import { columns } from './columns.ts'
import { comments } from './comments.ts'
import { credentials } from './credentials.ts'
import type { EventType } from './events.ts'
import { external } from './external.ts'
import { filesystem } from './filesystem.ts'
import { invitations } from './invitations.ts'
import { keys } from './keys.ts'
import { logs } from './logs.ts'
import { mcp } from './mcp.ts'
import { members } from './members.ts'
import { monitors } from './monitors.ts'
import { notifications } from './notifications.ts'
import { oauth } from './oauth.ts'
import { oidc } from './oidc.ts'
import { organizations } from './organizations.ts'
import { panelStates } from './panelStates.ts'
import { preSessions } from './preSessions.ts'
import { previews } from './previews.ts'
import { projects } from './projects.ts'
import { pullRequests } from './pullRequests.ts'
import { reviews } from './reviews.ts'
import type { Route } from './route.ts'
import { issues } from './issues.ts'
import { schedules } from './schedules.ts'
import { scripts } from './scripts.ts'
import { search } from './search.ts'
import { server } from './server.ts'
import { settings } from './settings.ts'
import { templates } from './templates.ts'
import { transfers } from './transfers.ts'
import { usage } from './usage.ts'
import { users } from './users.ts'
import { webhooks } from './webhooks.ts'

/** A route whose `emits` names events that exist. */
type Told = Route & { emits?: readonly EventType[] }

/** The API as data: every route of the server, by resource. */
export const contract = {
  server,
  auth,
  users,
  keys,
  organizations,
  members,
  invitations,
  oidc,
  oauth,
  credentials,
  projects,
  boards,
  columns,
  templates,
  cards,
  attachments,
  branches,
  forges,
  comments,
  activity,
  reviews,
  pullRequests,
  panelStates,
  settings,
  agents,
  agentProfiles,
  preSessions,
  previews,
  assistant,
  mcp,
  backups,
  transfers,
  logs,
  audit,
  filesystem,
  search,
  monitors,
  issues,
  schedules,
  scripts,
  webhooks,
  notifications,
  budgets,
  usage,
  external,
} satisfies Record<string, Record<string, Told>>
export type Contract = typeof contract
