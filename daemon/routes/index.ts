import type { App } from '../../src/app.ts'
import type { Contract } from '../../src/contract/index.ts'
import type { Endpoint } from '../http/callEndpoint.ts'
import type { Handlers } from '../http/handlers.ts'
import { activityRoutes } from './activity.ts'
import { agentProfilesRoutes } from './agentProfiles.ts'
import { agentReads } from './agents.ts'
import { agentWrites } from './agentWrites.ts'
import { assistantRoutes } from './assistant.ts'
import { attachmentsRoutes } from './attachments.ts'
import { auditRoutes } from './audit.ts'
import { authRoutes } from './auth.ts'
import { backupsRoutes } from './backups.ts'
import { boardsRoutes } from './boards.ts'
import { budgetsRoutes } from './budgets.ts'
import { branchesRoutes } from './branches.ts'
import { forgesRoutes } from './forges.ts'
import { cardsRoutes } from './cards.ts'
import { columnsRoutes } from './columns.ts'
import { commentsRoutes } from './comments.ts'
import { credentialsRoutes } from './credentials.ts'
import { externalRoutes } from './external.ts'
import { filesystemRoutes } from './filesystem.ts'
import { invitationsRoutes } from './invitations.ts'
import { keysRoutes } from './keys.ts'
import { logsRoutes } from './logs.ts'
import { mcpRoutes } from './mcp.ts'
import { membersRoutes } from './members.ts'
import { monitorsRoutes } from './monitors.ts'
import { notificationsRoutes } from './notifications.ts'
import { oauthRoutes } from './oauth.ts'
import { oidcRoutes } from './oidc.ts'
import { organizationsRoutes } from './organizations.ts'
import { panelStatesRoutes } from './panelStates.ts'
import { preSessionsRoutes } from './preSessions.ts'
import { previewsRoutes } from './previews.ts'
import { projectsRoutes } from './projects.ts'
import { pullRequestsRoutes } from './pullRequests.ts'
import { reviewsRoutes } from './reviews.ts'
import { issuesRoutes } from './issues.ts'
import { schedulesRoutes } from './schedules.ts'
import { scriptsRoutes } from './scripts.ts'
import { searchRoutes } from './search.ts'
import { serverRoutes } from './server.ts'
import { settingsRoutes } from './settings.ts'
import { templatesRoutes } from './templates.ts'
import { transfersRoutes } from './transfers.ts'
import { usageRoutes } from './usage.ts'
import { usersRoutes } from './users.ts'
import { webhooksRoutes } from './webhooks.ts'

/**
 * A handler for each row of the contract.
 * @param endpoints what answers each row, filled in later: tools call rows
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
  monitors: monitorsRoutes(app),
  issues: issuesRoutes(app),
  schedules: schedulesRoutes(app),
  scripts: scriptsRoutes(app),
  webhooks: webhooksRoutes(app),
  notifications: notificationsRoutes(app),
  budgets: budgetsRoutes(app),
  usage: usageRoutes(app),
  external: externalRoutes(app),
})
