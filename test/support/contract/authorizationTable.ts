import type { ErrorCode } from '../../../src/contract/errors.ts'
import type { Permission } from '../../../src/contract/route.ts'

/**
 * The permitted callers of each route. This is the expectation of authorization.slow.test.ts, written by hand and not computed from
 * the contract, so that a wrong `who` in the contract fails. Each section lists the responses of a kind of routes per caller: `own` if the
 * request names the callers' own object, `foreign` if it names another user's. A new route must be in at least one section.
 *
 *   ok     the request succeeds            401  the caller is unknown
 *   403    the caller has no permission    404  exactly the response for an object that does not exist
 *
 * The callers, who are columns:
 *   nobody     sends no token
 *   ended      any token or key that is expired, signed out, revoked or rotated, whose password was reset, whose account is deleted,
 *              that belongs to another server, or that never existed, including an agent's
 *   stranger   an account that belongs to nothing
 *   viewer, member, manager   have that role in the project itself (a manager has the role admin), and do not belong to its organization
 *   crew, chief               member and admin of the organization, without a role in the project itself
 *   owner      owns the project, and does not belong to its organization
 *   admin, super              administer the server, and belong to neither
 *   local      has the local token, and acts as super
 *   key        an API key of super's that has the permission before the route, and no other one: for the project, or for the whole server if that is what the permission is about
 *   keyless    the same key with every permission but that one
 *   viewerKey  a key of the viewer for the whole server, with every permission that a key of any scope can have
 *   orgKey     a key of super's for the organization, with the same
 *   superKey   a key of super's for the whole server, with every permission
 */
export const columns = [
  'nobody',
  'ended',
  'stranger',
  'viewer',
  'member',
  'manager',
  'crew',
  'chief',
  'owner',
  'admin',
  'super',
  'local',
  'key',
  'keyless',
  'viewerKey',
  'orgKey',
  'superKey',
] as const
export type Column = (typeof columns)[number] | (typeof agentColumns)[number]
export const cells = ['ok', '401', '403', '404'] as const
export type Cell = (typeof cells)[number]

/** `routes`: by the permission that an API key needs, or `none`. A route's name can be followed by a special property of the request. */
export interface Section {
  about: string
  own: string
  foreign?: string
  /** The code of 403 if it is not the usual one. */ refusal?: ErrorCode
  routes: Record<string, string>
}

export const sections: Section[] = [
  {
    about: 'all callers, with or without a token',
    //       nobody ended stranger viewer member manager crew chief owner admin super local key keyless viewerKey orgKey   superKey
    own: '   ok     ok    ok       ok     ok     ok      ok   ok    ok    ok    ok    ok    ok  ok      ok        ok       ok',
    routes: {
      none: 'server.health, server.ready, server.home, server.asset, server.openapi, server.docs, server.documentation, server.documentationPage, auth.status, auth.setup, auth.login, auth.register, auth.redeemTicket, invitations.lookup, oidc.login, oidc.callback, oidc.exchange, oauth.resource, oauth.resourceOfMcp, oauth.server, oauth.register, oauth.authorize, oauth.token, oauth.revoke',
    },
  },
  {
    about: 'all callers on this machine, with any token',
    //       nobody ended stranger viewer member manager crew chief owner admin super local key keyless viewerKey orgKey   superKey
    own: '   ok     ok    ok       ok     ok     ok      ok   ok    ok    ok    ok    ok    ok  ok      ok        ok       ok',
    routes: { none: 'server.metrics' },
  },
  {
    about: 'all callers with a token',
    //       nobody ended stranger viewer member manager crew chief owner admin super local key keyless viewerKey orgKey   superKey
    own: '   401    401   ok       ok     ok     ok      ok   ok    ok    ok    ok    ok    ok  ok      ok        ok       ok',
    routes: { none: 'auth.me, mcp.call' },
  },
  {
    about: 'signed-in users',
    //       nobody ended stranger viewer member manager crew chief owner admin super local key keyless viewerKey orgKey   superKey
    own: '   401    401   ok       ok     ok     ok      ok   ok    ok    ok    ok    ok    403 403     403       403      403',
    routes: {
      none: `auth.logout, auth.createTicket, invitations.accept, auth.sessions, auth.setPassword, users.search, settings.getUser, settings.setUser, settings.getShortcuts, settings.setShortcuts, settings.getContextRelay, settings.getAgents, settings.getAgentSlots, agentProfiles.list, notifications.get, notifications.set, agents.providers, agents.sandbox, filesystem.browse, projects.create, projects.reorder, organizations.create, organizations.list,
        oauth.request, oauth.approve, oauth.refuse, keys.create, keys.list, credentials.create, credentials.list, credentials.initOauth, templates.create, templates.list, budgets.list, usage.list, inbox.list, inbox.mark`,
    },
  },
  {
    about: 'signed-in users, and keys for records in their scope',
    //       nobody ended stranger viewer member manager crew chief owner admin super local key keyless viewerKey orgKey   superKey
    own: '   401    401   ok       ok     ok     ok      ok   ok    ok    ok    ok    ok    ok  403     ok        ok       ok',
    routes: { 'projects.read': 'projects.list', 'cards.read': 'search.find' },
  },
  {
    about: 'who works in a project, and administrators',
    //       nobody ended stranger viewer member manager crew chief owner admin super local key keyless viewerKey orgKey   superKey
    own: '   401    401   403      403    ok     ok      ok   ok    ok    ok    ok    ok    ok  403     403       ok       ok',
    routes: { 'agents.run': 'agents.check' },
  },
  {
    about: 'the owner, and no administrator either',
    //       nobody ended stranger viewer member manager crew chief owner admin super local key keyless viewerKey orgKey   superKey
    own: '   401    401   ok       ok     ok     ok      ok   ok    ok    ok    ok    ok    403 403     403       403      403',
    foreign:
      '401   401   404      404    404    404     404  404   404   404   404   404   403 403     403       403      403',
    routes: {
      none: 'keys.get, keys.revoke, keys.rotate, credentials.get, credentials.update, credentials.delete, credentials.verify, credentials.usage, credentials.oauthStatus, auth.endSession, templates.update, templates.delete',
    },
  },
  {
    about: 'no caller: built-in objects cannot be changed',
    //       nobody ended stranger viewer member manager crew chief owner admin super local key keyless viewerKey orgKey   superKey
    own: '   401    401   403      403    403    403     403  403   403   403   403   403   403 403     403       403      403',
    routes: { none: 'templates.update that is built in, templates.delete that is built in' },
  },
  {
    about: 'administrators of the server',
    //       nobody ended stranger viewer member manager crew chief owner admin super local key keyless viewerKey orgKey   superKey
    own: '   401    401   403      403    403    403     403  403   403   ok    ok    ok    403 403     403       403      403',
    routes: {
      none: 'settings.setContextRelay, settings.setAgents, settings.setAgentSlots, agentProfiles.create, agentProfiles.update, agentProfiles.delete, logs.list, server.daemons, users.list, users.create, users.update, users.delete, users.resetPassword, users.checkDelete, users.checkDelete of a super_admin',
    },
  },
  {
    about: 'super_admins',
    //       nobody ended stranger viewer member manager crew chief owner admin super local key keyless viewerKey orgKey   superKey
    own: '   401    401   403      403    403    403     403  403   403   403   ok    ok    403 403     403       403      403',
    routes: {
      none: `auth.getSettings, auth.setSettings, audit.list, logs.getExport, logs.setExport, logs.testExport, oidc.get, oidc.set, oidc.delete, oidc.test,
        server.metrics from elsewhere, backups.upload, backups.restoring, backups.restore, backups.delete,
        users.create a super_admin, users.update of a super_admin, users.update to a super_admin, users.delete of a super_admin, users.resetPassword of a super_admin`,
    },
  },
  {
    about: 'super_admins, and keys of theirs for the whole server',
    //       nobody ended stranger viewer member manager crew chief owner admin super local key keyless viewerKey orgKey   superKey
    own: '   401    401   403      403    403    403     403  403   403   403   ok    ok    ok  403     403       403      ok',
    routes: { 'backups.create': 'backups.create', 'backups.read': 'backups.list, backups.download' },
  },
  {
    about: 'who belongs to the organization, and administrators',
    //       nobody ended stranger viewer member manager crew chief owner admin super local key keyless viewerKey orgKey   superKey
    own: '   401    401   404      404    404    404     ok   ok    404   ok    ok    ok    403 403     403       403      403',
    foreign:
      '401   401   404      404    404    404     404  404   404   ok    ok    ok    403 403     403       403      403',
    routes: {
      none: 'organizations.get, organizations.listMembers, projects.create in an organization, keys.create for an organization',
    },
  },
  {
    about: 'admins of the organization, and administrators',
    //       nobody ended stranger viewer member manager crew chief owner admin super local key keyless viewerKey orgKey   superKey
    own: '   401    401   404      404    404    404     403  ok    404   ok    ok    ok    403 403     403       403      403',
    foreign:
      '401   401   404      404    404    404     404  404   404   ok    ok    ok    403 403     403       403      403',
    routes: {
      none: 'organizations.update, organizations.delete, organizations.addMember, organizations.updateMember, organizations.removeMember, organizations.setCredential, transfers.exportOrganization',
    },
  },
  {
    about: 'users who can see the project',
    //       nobody ended stranger viewer member manager crew chief owner admin super local key keyless viewerKey orgKey   superKey
    own: '   401    401   404      ok     ok     ok      ok   ok    ok    ok    ok    ok    ok  403     ok        ok       ok',
    foreign:
      '401   401   404      404    404    404     404  404   404   ok    ok    ok    404 403     404       404      ok',
    routes: {
      'projects.read': 'projects.get, projects.opened, projects.files, projects.getWorktree, forges.get',
      'boards.read': 'boards.list, columns.list, gates.list',
      'monitors.read': 'monitors.listProject',
      'cards.read':
        'projects.stats, projects.history, schedules.list, schedules.preview, members.people, cards.list, cards.get, cards.getFlat, cards.status, cards.view, cards.getPipeline, attachments.listProject, attachments.list, attachments.download, comments.list, activity.list, reviews.list, issues.list, pullRequests.get, pullRequests.list',
      'cards.update': 'cards.setWatching',
      'comments.write': 'comments.create, comments.update, comments.delete',
      'scripts.read': 'scripts.list, scripts.status',
      'agents.read':
        'projects.usage, budgets.listProject, agents.get, agents.wait, agents.sessions, agents.history, agents.messages, agents.active, agents.slashCommands, agents.diff, branches.repositories, branches.checkMerge, previews.get, previews.createTicket, proofs.list, proofs.get, landings.list, landings.get, reviews.changedFile, preSessions.list, preSessions.get, preSessions.messages, assistant.get',
      'exports.read': 'transfers.exportProject',
    },
  },
  {
    about: 'users who can see the project, and API keys with any read permission in it',
    //       nobody ended stranger viewer member manager crew chief owner admin super local key keyless viewerKey orgKey   superKey
    own: '   401    401   404      ok     ok     ok      ok   ok    ok    ok    ok    ok    ok  ok      ok        ok       ok',
    foreign:
      '401   401   404      404    404    404     404  404   404   ok    ok    ok    404 404     404       404      ok',
    routes: { 'cards.read': 'server.socket' },
  },
  {
    about: 'users who can see the project, and no API key',
    //       nobody ended stranger viewer member manager crew chief owner admin super local key keyless viewerKey orgKey   superKey
    own: '   401    401   404      ok     ok     ok      ok   ok    ok    ok    ok    ok    403 403     403       403      403',
    foreign:
      '401   401   404      404    404    404     404  404   404   ok    ok    ok    403 403     403       403      403',
    routes: { none: 'members.list, panelStates.get, panelStates.set, panelStates.delete, keys.create for a project' },
  },
  {
    about: 'users who can see a project in that folder, and no API key',
    //       nobody ended stranger viewer member manager crew chief owner admin super local key keyless viewerKey orgKey   superKey
    own: '   401    401   403      ok     ok     ok      ok   ok    ok    ok    ok    ok    403 403     403       403      403',
    routes: { none: 'filesystem.browse in a folder, filesystem.read' },
  },
  {
    about: 'who works in the project',
    //       nobody ended stranger viewer member manager crew chief owner admin super local key keyless viewerKey orgKey   superKey
    own: '   401    401   404      403    ok     ok      ok   ok    ok    ok    ok    ok    ok  403     403       ok       ok',
    foreign:
      '401   401   404      404    404    404     404  404   404   ok    ok    ok    404 403     404       404      ok',
    routes: {
      'boards.write':
        'boards.create, boards.reorder, boards.update, columns.create, columns.reorder, columns.update, columns.delete',
      'cards.create': 'cards.create',
      'schedules.write': 'schedules.create, schedules.update, schedules.delete, schedules.run',
      'webhooks.read': 'webhooks.list, webhooks.deliveries',
      'cards.update':
        'projects.markAllRead, issues.sync, cards.update, cards.setPipeline, attachments.create, attachments.delete, reviews.getDraft, reviews.putDraft, reviews.create',
      'cards.move': 'cards.move, cards.complete',
      'cards.delete': 'cards.delete, cards.listDeleted, cards.restore, columns.clear',
      'agents.archive': 'cards.archive, cards.unarchive',
      'scripts.write': 'scripts.create, scripts.reorder, scripts.update, scripts.delete',
      'scripts.run':
        'scripts.run, scripts.cancel, proofs.check, proofs.cancel, projects.agreeToBoardFile, projects.withdrawAgreement, previews.start, previews.stop',
      'agents.cancel': 'agents.cancel',
      'agents.run':
        'cards.activate, cards.setAutoMode, agents.approveAuto, agents.send, agents.retry, agents.relaunch, agents.relay, agents.approvePlan, agents.summary, agents.merge, landings.add, landings.cancel, landings.pause, landings.resume, branches.push, branches.update, pullRequests.draft, pullRequests.create, pullRequests.update, pullRequests.merge, pullRequests.close, pullRequests.continue, preSessions.start, preSessions.send, preSessions.accept, preSessions.cancel, assistant.send',
    },
  },
  {
    about: 'who works in the project, and no API key',
    //       nobody ended stranger viewer member manager crew chief owner admin super local key keyless viewerKey orgKey   superKey
    own: '   401    401   404      403    ok     ok      ok   ok    ok    ok    ok    ok    403 403     403       403      403',
    foreign:
      '401   401   404      404    404    404     404  404   404   ok    ok    ok    403 403     403       403      403',
    routes: { none: 'credentials.chooseForCard, agents.token, monitors.deleteProject, transfers.import' },
  },
  {
    about: 'who manages the project',
    //       nobody ended stranger viewer member manager crew chief owner admin super local key keyless viewerKey orgKey   superKey
    own: '   401    401   404      403    403    ok      403  ok    ok    ok    ok    ok    ok  403     403       ok       ok',
    foreign:
      '401   401   404      404    404    404     404  404   404   ok    ok    ok    404 403     404       404      ok',
    routes: {
      'boards.write': 'boards.delete',
      'gates.write': 'gates.create, gates.reorder, gates.update, gates.delete',
      'webhooks.write':
        'webhooks.create, webhooks.update, webhooks.delete, webhooks.rotate, webhooks.test, webhooks.redeliver, forges.giveWebhookSecret',
    },
  },
  {
    about: 'who manages the project, and no API key',
    //       nobody ended stranger viewer member manager crew chief owner admin super local key keyless viewerKey orgKey   superKey
    own: '   401    401   404      403    403    ok      403  ok    ok    ok    ok    ok    403 403     403       403      403',
    foreign:
      '401   401   404      404    404    404     404  404   404   ok    ok    ok    403 403     403       403      403',
    routes: {
      none: `projects.update, projects.delete, members.add, members.update, members.remove, members.renewInvitation, members.removeInvitation, credentials.choose, cards.attachWorktree, cards.detachWorktree,
        budgets.create, budgets.update, budgets.delete`,
    },
  },
  {
    about: 'a forge that signs its deliveries, and no caller with a token',
    //       nobody ended stranger viewer member manager crew chief owner admin super local key keyless viewerKey orgKey   superKey
    own: '   401    401   401      401    401    401     401  401   401   401   401   401   401 401     401       401      401',
    routes: { none: 'forges.deliver' },
  },
  {
    about: 'agents of that card, who have no column',
    //       nobody ended stranger viewer member manager crew chief owner admin super local key keyless viewerKey orgKey   superKey
    own: '   401    401   403      403    403    403     403  403   403   403   403   403   403 403     403       403      403',
    foreign:
      '401   401   403      403    403    403     403  403   403   403   403   403   403 403     403       403      403',
    refusal: 'AGENT_TOKEN_REQUIRED',
    routes: { none: 'monitors.create, monitors.list, monitors.delete' },
  },
  {
    about: 'API keys that can see the project',
    //       nobody ended stranger viewer member manager crew chief owner admin super local key keyless viewerKey orgKey   superKey
    own: '   401    401   401      401    401    401     401  401   401   401   401   401   ok  403     ok        ok       ok',
    foreign:
      '401   401   401      401    401    401     401  401   401   401   401   401   404 403     404       404      ok',
    routes: { 'cards.read': 'external.boards, external.list, external.get, external.stats' },
  },
  {
    about: 'API keys that can work in the project',
    //       nobody ended stranger viewer member manager crew chief owner admin super local key keyless viewerKey orgKey   superKey
    own: '   401    401   401      401    401    401     401  401   401   401   401   401   ok  403     403       ok       ok',
    foreign:
      '401   401   401      401    401    401     401  401   401   401   401   401   404 403     404       404      ok',
    routes: {
      'cards.create or pipelines.trigger': 'external.create',
      'cards.move': 'external.move',
      'agents.archive': 'external.archive',
      'agents.cancel': 'external.cancelAgent',
    },
  },
]

/**
 * A request that names one's own project or organization, and in another place of its path an object of another user. The response is the
 * same as if that object did not exist, also for super, who can see both.
 */
export const inPath: Record<string, string> = {
  boardId: 'BOARD_NOT_FOUND',
  columnId: 'COLUMN_NOT_FOUND',
  cardId: 'CARD_NOT_FOUND',
  userId: 'MEMBER_NOT_FOUND',
  email: 'INVITATION_NOT_FOUND',
  sessionId: 'PRE_SESSION_NOT_FOUND',
  commentId: 'COMMENT_NOT_FOUND',
  'panelStates.delete cardId': 'PANEL_STATE_NOT_FOUND',
  monitorId: 'MONITOR_NOT_FOUND',
  webhookId: 'WEBHOOK_NOT_FOUND',
  deliveryId: 'DELIVERY_NOT_FOUND',
  scriptId: 'SCRIPT_NOT_FOUND',
  gateId: 'GATE_NOT_FOUND',
  proofId: 'PROOF_NOT_FOUND',
  landingId: 'LANDING_NOT_FOUND',
  scheduleId: 'SCHEDULE_NOT_FOUND',
  'monitors.create cardId': 'AGENT_TOKEN_REQUIRED',
  'monitors.list cardId': 'AGENT_TOKEN_REQUIRED',
  'monitors.delete cardId': 'AGENT_TOKEN_REQUIRED',
  'monitors.delete monitorId': 'AGENT_TOKEN_REQUIRED',
}

/** The permissions that a key needs for the example of a route, in addition to that of the route: a webhook sends only events that its owner can read. */
export const alsoNeeded: Record<string, readonly Permission[]> = {
  'webhooks.create': ['cards.read'],
  'columns.create': ['agents.run'],
  'schedules.create': ['cards.create'],
  'schedules.update': ['cards.create'],
  'schedules.run': ['cards.create'],
}

/**
 * A field that names an object of another user in a request that is otherwise one's own: the response for the chief, who cannot see
 * that object, and for super, who can. `empty` is a list without elements. Every field that names a row is listed here.
 */
export const inFields: Record<string, [chief: string, superAdmin: string]> = {
  'projects.create organizationId': ['ORGANIZATION_NOT_FOUND', 'ok'],
  'projects.list organizationId': ['empty', 'ok'],
  'projects.reorder ids': ['INVALID_ORDER', 'INVALID_ORDER'],
  'projects.update organizationId': ['ORGANIZATION_NOT_FOUND', 'ok'],
  'keys.create organizationId': ['ORGANIZATION_NOT_FOUND', 'ok'],
  'oauth.approve projectId': ['APP_REQUEST_ENDED', 'APP_REQUEST_ENDED'],
  'keys.create projectId': ['PROJECT_NOT_FOUND', 'ok'],
  'agents.check credentialId': ['CREDENTIAL_NOT_FOUND', 'CREDENTIAL_NOT_FOUND'],
  'agentProfiles.create credentialId': ['FORBIDDEN', 'CREDENTIAL_NOT_FOUND'],
  'agentProfiles.update credentialId': ['FORBIDDEN', 'CREDENTIAL_NOT_FOUND'],
  'organizations.setCredential credentialId': ['CREDENTIAL_NOT_FOUND', 'CREDENTIAL_NOT_FOUND'],
  'credentials.choose credentialId': ['CREDENTIAL_NOT_FOUND', 'CREDENTIAL_NOT_FOUND'],
  'credentials.chooseForCard credentialId': ['CREDENTIAL_NOT_FOUND', 'CREDENTIAL_NOT_FOUND'],
  'budgets.list projectId': ['PROJECT_NOT_FOUND', 'ok'],
  'budgets.create scopeId': ['PROJECT_NOT_FOUND', 'ok'],
  'budgets.list cardId': ['CARD_NOT_FOUND', 'empty'],
  'budgets.list organizationId': ['ORGANIZATION_NOT_FOUND', 'empty'],
  'budgets.list credentialId': ['CREDENTIAL_NOT_FOUND', 'CREDENTIAL_NOT_FOUND'],
  'inbox.list projectId': ['PROJECT_NOT_FOUND', 'ok or empty'],
  'inbox.mark ids': ['ok', 'ok'],
  'inbox.mark projectId': ['PROJECT_NOT_FOUND', 'ok'],
  'usage.list projectId': ['PROJECT_NOT_FOUND', 'ok or empty'],
  'usage.list cardId': ['CARD_NOT_FOUND', 'ok or empty'],
  'usage.list organizationId': ['ORGANIZATION_NOT_FOUND', 'ok or empty'],
  'boards.create templateId': ['TEMPLATE_NOT_FOUND', 'TEMPLATE_NOT_FOUND'],
  'boards.reorder ids': ['INVALID_ORDER', 'INVALID_ORDER'],
  'columns.list boardId': ['BOARD_NOT_FOUND', 'BOARD_NOT_FOUND'],
  'columns.create boardId': ['BOARD_NOT_FOUND', 'BOARD_NOT_FOUND'],
  'columns.create mergedColumnId': ['COLUMN_NOT_FOUND', 'COLUMN_IN_OTHER_PROJECT'],
  'columns.create closedColumnId': ['COLUMN_NOT_FOUND', 'COLUMN_IN_OTHER_PROJECT'],
  'columns.update mergedColumnId': ['COLUMN_NOT_FOUND', 'COLUMN_IN_OTHER_PROJECT'],
  'columns.update closedColumnId': ['COLUMN_NOT_FOUND', 'COLUMN_IN_OTHER_PROJECT'],
  'columns.reorder ids': ['COLUMN_NOT_FOUND', 'COLUMN_NOT_FOUND'],
  'gates.create columnId': ['COLUMN_NOT_FOUND', 'COLUMN_IN_OTHER_PROJECT'],
  'gates.update columnId': ['COLUMN_NOT_FOUND', 'COLUMN_IN_OTHER_PROJECT'],
  'gates.reorder ids': ['INVALID_ORDER', 'INVALID_ORDER'],
  'proofs.check gateId': ['GATE_NOT_FOUND', 'GATE_NOT_FOUND'],
  'scripts.reorder ids': ['INVALID_ORDER', 'INVALID_ORDER'],
  'scripts.status scriptId': ['SCRIPT_NOT_FOUND', 'SCRIPT_NOT_FOUND'],
  'cards.list boardId': ['empty', 'empty'],
  'cards.list columnId': ['empty', 'empty'],
  'cards.listDeleted boardId': ['empty', 'empty'],
  'cards.list assigneeId': ['empty', 'empty'],
  'external.list assigneeId': ['empty', 'empty'],
  'cards.create assigneeIds': ['VALIDATION_FAILED', 'VALIDATION_FAILED'],
  'cards.update assigneeIds': ['VALIDATION_FAILED', 'VALIDATION_FAILED'],
  'external.create assigneeIds': ['VALIDATION_FAILED', 'VALIDATION_FAILED'],
  'cards.create projectId': ['PROJECT_NOT_FOUND', 'COLUMN_IN_OTHER_PROJECT'],
  'cards.create columnId': ['COLUMN_NOT_FOUND', 'COLUMN_IN_OTHER_PROJECT'],
  'cards.create blockedBy': ['CARD_NOT_FOUND', 'CARD_NOT_FOUND'],
  'cards.create parentId': ['CARD_NOT_FOUND', 'CARD_NOT_FOUND'],
  'cards.create discoveredFromId': ['CARD_NOT_FOUND', 'CARD_NOT_FOUND'],
  'cards.update blockedBy': ['CARD_NOT_FOUND', 'CARD_NOT_FOUND'],
  'cards.update parentId': ['CARD_NOT_FOUND', 'CARD_NOT_FOUND'],
  'cards.create baseCardId': ['CARD_NOT_FOUND', 'CARD_NOT_FOUND'],
  'cards.update baseCardId': ['CARD_NOT_FOUND', 'CARD_NOT_FOUND'],
  'cards.update discoveredFromId': ['CARD_NOT_FOUND', 'CARD_NOT_FOUND'],
  'external.create blockedBy': ['CARD_NOT_FOUND', 'CARD_NOT_FOUND'],
  'cards.move columnId': ['COLUMN_NOT_FOUND', 'COLUMN_IN_OTHER_PROJECT'],
  'search.find projectId': ['PROJECT_NOT_FOUND', 'empty'],
  'reviews.changedFile since': ['REVIEW_NOT_FOUND', 'REVIEW_NOT_FOUND'],
  'agents.diff since': ['REVIEW_NOT_FOUND', 'REVIEW_NOT_FOUND'],
  'agents.messages sessionId': ['SESSION_NOT_FOUND', 'SESSION_NOT_FOUND'],
  'preSessions.start cardId': ['CARD_NOT_FOUND', 'CARD_NOT_FOUND'],
  'cards.setPipeline steps': ['INVALID_PIPELINE', 'INVALID_PIPELINE'],
  'transfers.exportOrganization organizationId': ['ORGANIZATION_NOT_FOUND', 'ok'],
  'transfers.import projectId': ['PROJECT_NOT_FOUND', 'ok'],
  'transfers.import organizationId': ['ORGANIZATION_NOT_FOUND', 'ok'],
  'external.list columnId': ['empty', 'empty'],
  'external.create columnId': ['COLUMN_NOT_FOUND', 'COLUMN_IN_OTHER_PROJECT'],
  'external.move targetColumnId': ['COLUMN_NOT_FOUND', 'COLUMN_IN_OTHER_PROJECT'],
}

/**
 * Two more callers, with the same results in all sections except for the routes listed here:
 *   agent        has an agent token of the card that one's own request names
 *   otherAgent   has one of another card of the same project
 * A route without authentication accepts theirs, and all others reject them with 403, without a lookup of the named objects. A socket is
 * accepted for them, but follows no project.
 */
export const agentColumns = ['agent', 'otherAgent'] as const
export const forAgents: Record<string, { own: string; foreign: string }> = {
  //           agent otherAgent
  'auth.me': { own: 'ok ok', foreign: 'ok ok' },
  'mcp.call': { own: 'ok ok', foreign: 'ok ok' },
  'server.socket': { own: '404 404', foreign: '404 404' },
  'forges.deliver': { own: '401 401', foreign: '401 401' },
  'monitors.create': { own: 'ok 403', foreign: '403 403' },
  'monitors.list': { own: 'ok 403', foreign: '403 403' },
  'monitors.delete': { own: 'ok 403', foreign: '403 403' },
}
