import { activity } from './cards/activity.ts'
import { agentProfiles } from './agents/agentProfiles.ts'
import { agents } from './agents/agents.ts'
import { audit } from './server/audit.ts'
import { assistant } from './agents/assistant.ts'
import { attachments } from './cards/attachments.ts'
import { auth } from './accounts/auth.ts'
import { backups } from './server/backups.ts'
import { boards } from './boards/boards.ts'
import { branches } from './forges/branches.ts'
import { forges } from './forges/forge.ts'
import { budgets } from './agents/budgets.ts'
import { cards } from './cards/cards.ts'
import { columns } from './boards/columns.ts'
import { gates } from './boards/gates.ts'
import { landings } from './forges/landings.ts'
import { comments } from './cards/comments.ts'
import { credentials } from './accounts/credentials.ts'
import type { EventType } from './server/events.ts'
import { external } from './server/external.ts'
import { filesystem } from './projects/filesystem.ts'
import { inbox } from './cards/inbox.ts'
import { invitations } from './projects/invitations.ts'
import { keys } from './accounts/keys.ts'
import { logs } from './server/logs.ts'
import { mcp } from './agents/mcp.ts'
import { members } from './projects/members.ts'
import { monitors } from './automation/monitors.ts'
import { notifications } from './automation/notifications.ts'
import { oauth } from './accounts/oauth.ts'
import { oidc } from './accounts/oidc.ts'
import { organizations } from './accounts/organizations.ts'
import { panelStates } from './boards/panelStates.ts'
import { preSessions } from './agents/preSessions.ts'
import { previews } from './automation/previews.ts'
import { projects } from './projects/projects.ts'
import { pullRequests } from './forges/pullRequests.ts'
import { reviews } from './forges/reviews.ts'
import type { Route } from './route.ts'
import { issues } from './forges/issues.ts'
import { schedules } from './automation/schedules.ts'
import { scripts } from './automation/scripts.ts'
import { proofs } from './cards/proofs.ts'
import { search } from './cards/search.ts'
import { server } from './server/server.ts'
import { settings } from './accounts/settings.ts'
import { templates } from './boards/templates.ts'
import { transfers } from './projects/transfers.ts'
import { usage } from './agents/usage.ts'
import { users } from './accounts/users.ts'
import { webhooks } from './automation/webhooks.ts'

/** A route whose `emits` names events that exist. */
type RouteWithEvents = Route & { emits?: readonly EventType[] }

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
  gates,
  templates,
  cards,
  attachments,
  branches,
  forges,
  comments,
  proofs,
  landings,
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
  inbox,
  monitors,
  issues,
  schedules,
  scripts,
  webhooks,
  notifications,
  budgets,
  usage,
  external,
} satisfies Record<string, Record<string, RouteWithEvents>>
export type Contract = typeof contract
