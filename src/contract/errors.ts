/** Every error code with its HTTP status and its default message. */
export const errors = {
  VALIDATION_FAILED: [400, 'The request is not valid.'],
  BAD_REQUEST: [400, 'The request is not HTTP that this server understands.'],
  INVALID_JSON: [400, 'The body is not valid JSON.'],
  INVALID_ID: [400, 'An id must be a positive integer.'],
  INVALID_ORDER: [400, 'ids must hold every id of the list exactly once.'],
  INVALID_PIPELINE: [400, "A pipeline step must name an active column of the card's board, each at most once."],
  PATH_NOT_ABSOLUTE: [400, 'path must be absolute.'],
  PATH_NOT_FOUND: [400, 'path must be an existing folder.'],
  MONITOR_UNSANDBOXED_ACK_REQUIRED: [
    400,
    "allowUnsandboxed must be true: the command runs with the server's own permissions.",
  ],
  MONITOR_COMMAND_INVALID: [400, 'command must be text of 1 to 4096 characters, not blank and without NUL.'],
  MONITOR_INTERVAL_INVALID: [400, 'intervalSecs must be a whole number from 10 to 86400.'],
  MONITOR_DESCRIPTION_INVALID: [400, 'description must be text of at most 500 characters without NUL.'],
  MONITOR_CWD_INVALID: [400, 'cwd must be the absolute path of an existing folder.'],
  MONITOR_CWD_OUTSIDE_CARD: [400, "cwd must be inside the project, the card's worktree or its attached worktree."],
  WEBHOOK_TARGET_REFUSED: [400, 'url leads to a loopback, private or link-local address.'],
  INVALID_BACKUP: [400, 'The file is not a whole backup of a board.'],
  INVALID_IMPORT: [400, 'The file cannot be imported.'],
  SETUP_CODE_REQUIRED: [403, 'setupCode must be the code that the server printed at its start, or was given.'],
  OIDC_SIGN_IN_UNKNOWN: [
    400,
    'This sign-in is not known here: it took too long, was completed already, or began in another browser. Start again.',
  ],
  APP_UNKNOWN: [400, 'This app is not known here, or not any more. Remove the board from the app, and add it again.'],
  APP_REQUEST_INVALID: [400, 'The request of the app is not valid.'],
  APP_REQUEST_ENDED: [400, 'This took too long, or was decided already. Start again in the app.'],
  INVALID_REDIRECT_URI: [
    400,
    'redirect_uris must be https addresses, http ones of this machine, or ones of a scheme of the app.',
  ],
  INVALID_CLIENT: [400, 'client_id names no app that is known here.'],
  INVALID_GRANT: [400, 'The code or the refresh token is not valid.'],
  INVALID_TARGET: [400, 'resource is not this board.'],
  UNSUPPORTED_GRANT_TYPE: [400, 'grant_type must be authorization_code or refresh_token.'],
  UNAUTHENTICATED: [401, 'Sign in first: send Authorization: Bearer <token>.'],
  INVALID_CREDENTIALS: [401, 'The email or the password is wrong.'],
  TOKEN_EXPIRED: [401, 'The token has expired.'],
  AGENT_TOKEN_REQUIRED: [403, 'This route is open to agent tokens of the card only.'],
  FORBIDDEN: [403, "You don't have permission to do this."],
  INSUFFICIENT_PERMISSIONS: [403, 'The API key lacks the permission.'],
  HOST_NOT_ALLOWED: [403, 'This server does not answer to that Host.'],
  ORIGIN_NOT_ALLOWED: [403, 'This server does not answer pages of that Origin.'],
  PATH_OUTSIDE_ROOTS: [403, "path must be below one of the server's project roots."],
  OIDC_REFUSED: [403, 'The identity provider refused the sign-in.'],
  REGISTRATION_DISABLED: [403, 'Registration is switched off.'],
  NOT_FOUND: [404, 'There is no such route.'],
  PROJECT_NOT_FOUND: [404, 'There is no such project.'],
  BOARD_NOT_FOUND: [404, 'There is no such board.'],
  COLUMN_NOT_FOUND: [404, 'There is no such column.'],
  CARD_NOT_FOUND: [404, 'There is no such card.'],
  ATTACHMENT_NOT_FOUND: [404, 'There is no such attachment.'],
  COMMENT_NOT_FOUND: [404, 'There is no such comment.'],
  TEMPLATE_NOT_FOUND: [404, 'There is no such board template.'],
  KEY_NOT_FOUND: [404, 'There is no such API key.'],
  ORGANIZATION_NOT_FOUND: [404, 'There is no such organization.'],
  USER_NOT_FOUND: [404, 'There is no such user.'],
  MEMBER_NOT_FOUND: [404, 'There is no such member.'],
  SIGN_IN_NOT_FOUND: [404, 'There is no such sign-in.'],
  INVITATION_NOT_FOUND: [404, 'There is no such invitation.'],
  AGENT_NOT_FOUND: [404, 'There is no such agent.'],
  PROFILE_NOT_FOUND: [404, 'There is no such profile of an agent.'],
  CREDENTIAL_NOT_FOUND: [404, 'There is no such credential.'],
  BUDGET_NOT_FOUND: [404, 'There is no such budget.'],
  INVITATION_EXPIRED: [409, 'The invitation has expired. Ask for a new link.'],
  OIDC_NOT_CONFIGURED: [409, 'Single sign-on is not configured.'],
  PRE_SESSION_NOT_FOUND: [404, 'There is no such pre-session.'],
  SESSION_NOT_FOUND: [404, 'There is no such agent session.'],
  PANEL_STATE_NOT_FOUND: [404, 'There is no such panel state.'],
  MONITOR_NOT_FOUND: [404, 'There is no such monitor.'],
  SCHEDULE_NOT_FOUND: [404, 'There is no such schedule.'],
  SCRIPT_NOT_FOUND: [404, 'There is no such script.'],
  PULL_REQUEST_NOT_FOUND: [404, 'The card has no pull request.'],
  REVIEW_NOT_FOUND: [404, 'There is no such review.'],
  REVIEW_COMMENT_NOT_FOUND: [404, 'There is no such comment in a review of the card.'],
  WEBHOOK_NOT_FOUND: [404, 'There is no such webhook.'],
  DELIVERY_NOT_FOUND: [404, 'There is no such delivery.'],
  BACKUP_NOT_FOUND: [404, 'There is no such backup.'],
  FILE_NOT_FOUND: [404, 'There is no such file or folder.'],
  METHOD_NOT_ALLOWED: [405, 'This path does not answer that method.'],
  REQUEST_TIMEOUT: [408, 'The request took too long to arrive.'],
  CONFLICT: [409, 'The request conflicts with the present state.'],
  SETUP_ALREADY_DONE: [409, 'The first user exists already.'],
  ADDRESS_UNVERIFIED: [
    409,
    'The address of this account is not verified. The user must sign in with single sign-on, or a server administrator must confirm the address with "board users edit <email> --address-verified".',
  ],
  EMAIL_TAKEN: [409, 'That email address has an account already.'],
  CANNOT_DELETE_SELF: [409, 'You cannot delete your own account.'],
  LAST_SUPER_ADMIN: [409, 'The last super_admin cannot be deleted or demoted.'],
  NOT_LOCAL_AUTH: [409, 'The account signs in through the identity provider; it has no password here.'],
  LAST_ORGANIZATION_ADMIN: [409, 'An organization keeps at least one admin.'],
  SEALED_WITH_OTHER_KEY: [
    409,
    'The secret was sealed with another key; give the server that key, or enter the secret again.',
  ],
  ORGANIZATION_HAS_PROJECTS: [409, 'The organization still has projects.'],
  COLUMN_NOT_EMPTY: [409, 'The column still holds cards; clear it first.'],
  LAST_BOARD: [409, 'The last board of a project cannot be deleted.'],
  WORKTREE_DIRTY: [409, 'The worktree holds work that nothing else holds; force deletes it after saving a patch.'],
  AGENT_ALREADY_RUNNING: [409, 'An agent is running on the card already.'],
  NOTHING_TO_APPROVE: [409, 'Nothing waits for an approval.'],
  MERGE_CONFLICT: [409, 'The merge has conflicts; nothing was changed.'],
  PULL_REQUEST_EXISTS: [409, 'The card has an open pull request there already.'],
  PULL_REQUEST_NOT_READY: [409, 'The pull request is not ready to be merged.'],
  FORGE_NOT_CONFIGURED: [409, "The project's forge is not known, or has no credential."],
  FORGE_REFUSED: [409, 'The forge refused it.'],
  PUSH_REJECTED: [
    409,
    "The remote branch has commits that are not in the card's branch. Review them first. With force, the push replaces the last fetched version of the branch.",
  ],
  AGENT_NOT_RUNNING: [409, 'No agent is running on the card.'],
  CARD_BLOCKED: [409, 'The card is blocked by other cards. Use force to start it anyway.'],
  CARD_BLOCKS_OTHERS: [
    409,
    'Other cards wait for the card; force deletes it, and they go on waiting until it is taken from them.',
  ],
  DEPENDENCY_CYCLE: [409, 'The card would wait for itself.'],
  COLUMN_FULL: [409, 'The column is full. Use force to move the card into it anyway.'],
  BUDGET_EXHAUSTED: [409, 'A budget is used up.'],
  CARD_LIMIT_REACHED: [409, 'The session has created as many cards as its project allows.'],
  CARD_NOT_DEFERRED: [409, 'The card is not deferred.'],
  COLUMN_NOT_ON_DEFAULT_BOARD: [409, "columnId must be a column of the project's default board."],
  COLUMN_IN_OTHER_PROJECT: [409, 'The column belongs to another project.'],
  MONITOR_LIMIT_REACHED: [409, 'A card has at most 8 monitors.'],
  MONITOR_CARD_INACTIVE: [409, 'The card is not active: it is archived, deleted, or outside an active column.'],
  MONITOR_TERMINAL_CARD_UNSUPPORTED: [409, 'Terminal cards have no monitors.'],
  SCRIPT_ALREADY_RUNNING: [409, 'The script is running already.'],
  SCRIPT_NOT_RUNNING: [409, 'The script is not running.'],
  BACKUP_EXISTS: [409, 'A backup with that name already exists.'],
  IDEMPOTENCY_KEY_REUSED: [409, 'That Idempotency-Key was used with another request.'],
  SERVER_ALREADY_RUNNING: [409, 'Another server holds this data folder.'],
  NOT_A_GIT_REPOSITORY: [409, "The project's folder is not a Git repository."],
  VERSION_CONFLICT: [412, 'The card has changed since that version.'],
  BODY_TOO_LARGE: [413, 'The body is too large.'],
  UNSUPPORTED_MEDIA_TYPE: [415, 'The body must be application/json.'],
  RANGE_NOT_SATISFIABLE: [416, 'The file has no such range of bytes.'],
  EXPECTATION_FAILED: [417, 'The Expect header supports only 100-continue.'],
  RATE_LIMITED: [429, 'Too many requests; try again later.'],
  HEADERS_TOO_LARGE: [431, 'The head of the request is too large: at most 16 KiB.'],
  INTERNAL: [500, 'Something went wrong.'],
  DATABASE_BUSY: [503, 'The database is busy; try again.'],
  DATABASE_DAMAGED: [503, 'The database file is damaged; nothing is written until a backup is restored.'],
  DISK_FULL: [503, 'The disk is full; nothing was changed.'],
  FORGE_UNAVAILABLE: [503, 'The forge could not be reached; try again later.'],
  PROVIDER_UNAVAILABLE: [503, 'The provider could not be reached; try again later.'],
  MACHINE_UNAVAILABLE: [503, "No daemon works on the machine that has the project's folder."],
  AGENT_UNAVAILABLE: [503, 'No agent can be started.'],
  SHUTTING_DOWN: [503, 'The server is shutting down.'],
} as const satisfies Record<string, readonly [number, string]>

export type ErrorCode = keyof typeof errors
/** A code whose status is 404. */
export type NotFoundCode = { [Code in ErrorCode]: (typeof errors)[Code][0] extends 404 ? Code : never }[ErrorCode]

/** An error in an input: its path (`labels.0`), and the rule. */
export interface Detail {
  path: string
  message: string
}

/** An error that is returned to the caller: code, status, message, and the invalid fields. */
export class Problem extends Error {
  readonly code: ErrorCode
  readonly details?: readonly Detail[]
  /** The number of whole seconds after which a retry makes sense. */
  readonly retryAfterSecs?: number

  constructor(
    code: ErrorCode,
    message?: string,
    options: { details?: readonly Detail[]; retryAfterSecs?: number; cause?: unknown } = {},
  ) {
    super(message ?? errors[code][1], options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'Problem'
    this.code = code
    this.details = options.details
    this.retryAfterSecs = options.retryAfterSecs ?? (errors[code][0] === 503 ? 1 : undefined)
  }

  get status(): number {
    return errors[this.code][0]
  }

  /** The error envelope's `error` member (specification "Errors"). */
  toJSON() {
    return { code: this.code, message: this.message, ...(this.details && { details: this.details }) }
  }
}

/** Throws a Problem where an expression is required: `row ?? refuse('CARD_NOT_FOUND')`. @throws Problem */
export function refuse(code: ErrorCode, message?: string): never {
  throw new Problem(code, message)
}

/** A VALIDATION_FAILED for one field. */
export const invalid = (path: string, message: string): Problem =>
  new Problem('VALIDATION_FAILED', `${path} ${message}`, { details: [{ path, message }] })
