import type { App } from '../../src/app.ts'
import type { Contract } from '../../src/contract/index.ts'
import type { Endpoint } from '../http/callEndpoint.ts'
import type { Handlers } from '../http/handlers.ts'
import { activityRoutes } from './cards/activity.ts'
import { agentProfilesRoutes } from './agents/agentProfiles.ts'
import { agentReads } from './agents/agents.ts'
import { agentWrites } from './agents/agentWrites.ts'
import { assistantRoutes } from './agents/assistant.ts'
import { attachmentsRoutes } from './cards/attachments.ts'
import { auditRoutes } from './server/audit.ts'
import { authRoutes } from './accounts/auth.ts'
import { backupsRoutes } from './server/backups.ts'
import { boardsRoutes } from './boards/boards.ts'
import { budgetsRoutes } from './agents/budgets.ts'
import { branchesRoutes } from './forges/branches.ts'
import { forgesRoutes } from './forges/forges.ts'
import { cardsRoutes } from './cards/cards.ts'
import { columnsRoutes } from './boards/columns.ts'
import { commentsRoutes } from './cards/comments.ts'
import { credentialsRoutes } from './accounts/credentials.ts'
import { externalRoutes } from './server/external.ts'
import { filesystemRoutes } from './projects/filesystem.ts'
import { invitationsRoutes } from './projects/invitations.ts'
import { keysRoutes } from './accounts/keys.ts'
import { logsRoutes } from './server/logs.ts'
import { mcpRoutes } from './agents/mcp.ts'
import { membersRoutes } from './projects/members.ts'
import { monitorsRoutes } from './automation/monitors.ts'
import { notificationsRoutes } from './automation/notifications.ts'
import { oauthRoutes } from './accounts/oauth.ts'
import { oidcRoutes } from './accounts/oidc.ts'
import { organizationsRoutes } from './accounts/organizations.ts'
import { panelStatesRoutes } from './boards/panelStates.ts'
import { preSessionsRoutes } from './agents/preSessions.ts'
import { previewsRoutes } from './automation/previews.ts'
import { projectsRoutes } from './projects/projects.ts'
import { pullRequestsRoutes } from './forges/pullRequests.ts'
import { reviewsRoutes } from './forges/reviews.ts'
import { issuesRoutes } from './forges/issues.ts'
import { schedulesRoutes } from './automation/schedules.ts'
import { gatesRoutes } from './boards/gates.ts'
import { landingsRoutes } from './forges/landings.ts'
import { proofsRoutes } from './cards/proofs.ts'
import { scriptsRoutes } from './automation/scripts.ts'
import { inboxRoutes } from './cards/inbox.ts'
import { searchRoutes } from './cards/search.ts'
import { serverRoutes } from './server/server.ts'
import { settingsRoutes } from './accounts/settings.ts'
import { templatesRoutes } from './boards/templates.ts'
import { transfersRoutes } from './projects/transfers.ts'
import { usageRoutes } from './agents/usage.ts'
import { usersRoutes } from './accounts/users.ts'
import { webhooksRoutes } from './automation/webhooks.ts'

/**
 * A handler for each row of the contract.
 * @param endpoints the endpoints of all rows, which MCP tools call. The list is filled after this call
 */
export const handlers = (
  app: App,
  endpoints: readonly Endpoint[],
): { [Resource in keyof Contract]: Handlers<Contract[Resource]> } => ({
  server: serverRoutes(app),
  auth: authRoutes(app),
  users: usersRoutes(app),
  keys: keysRoutes(app),
  organizations: organizationsRoutes(app),
  members: membersRoutes(app),
  invitations: invitationsRoutes(app),
  projects: projectsRoutes(app),
  boards: boardsRoutes(app),
  branches: branchesRoutes(app),
  forges: forgesRoutes(app),
  columns: columnsRoutes(app),
  templates: templatesRoutes(app),
  transfers: transfersRoutes(app),
  cards: cardsRoutes(app),
  attachments: attachmentsRoutes(app),
  comments: commentsRoutes(app),
  activity: activityRoutes(app),
  reviews: reviewsRoutes(app),
  pullRequests: pullRequestsRoutes(app),
  panelStates: panelStatesRoutes(app),
  settings: settingsRoutes(app),
  oidc: oidcRoutes(app),
  oauth: oauthRoutes(app),
  credentials: credentialsRoutes(app),
  agents: { ...agentReads(app), ...agentWrites(app) },
  agentProfiles: agentProfilesRoutes(app),
  preSessions: preSessionsRoutes(app),
  previews: previewsRoutes(app),
  assistant: assistantRoutes(app),
  mcp: mcpRoutes(app, endpoints),
  backups: backupsRoutes(app),
  logs: logsRoutes(app),
  audit: auditRoutes(app),
  filesystem: filesystemRoutes(app),
  search: searchRoutes(app),
  inbox: inboxRoutes(app),
  monitors: monitorsRoutes(app),
  issues: issuesRoutes(app),
  schedules: schedulesRoutes(app),
  gates: gatesRoutes(app),
  proofs: proofsRoutes(app),
  landings: landingsRoutes(app),
  scripts: scriptsRoutes(app),
  webhooks: webhooksRoutes(app),
  notifications: notificationsRoutes(app),
  budgets: budgetsRoutes(app),
  usage: usageRoutes(app),
  external: externalRoutes(app),
})
