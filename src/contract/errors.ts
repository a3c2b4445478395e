/** Every error code with its HTTP status and its default message. */
export const errors = {
  VALIDATION_FAILED: [400, 'The request is not valid.'],
  BAD_REQUEST: [400, 'The request is not valid HTTP.'],
  INVALID_JSON: [400, 'The body is not valid JSON.'],
  INVALID_ID: [400, 'An ID must be a positive integer.'],
  INVALID_ORDER: [400, 'ids must contain each ID of the list exactly once.'],
  INVALID_PIPELINE: [400, "Each pipeline step must name a different active column of the card's board."],
  PATH_NOT_ABSOLUTE: [400, 'path must be absolute.'],
  PATH_NOT_FOUND: [400, 'path must be an existing folder.'],
  MONITOR_UNSANDBOXED_ACK_REQUIRED: [
    400,
    "allowUnsandboxed must be true: the command runs with the server's own permissions.",
  ],
  MONITOR_COMMAND_INVALID: [
    400,
    'command must have 1 to 4096 characters, must not be blank, and must not contain NUL.',
  ],
  MONITOR_INTERVAL_INVALID: [400, 'intervalSecs must be an integer from 10 to 86400.'],
  MONITOR_DESCRIPTION_INVALID: [400, 'description must have at most 500 characters, and must not contain NUL.'],
  MONITOR_CWD_INVALID: [400, 'cwd must be the absolute path of an existing folder.'],
  MONITOR_CWD_OUTSIDE_CARD: [400, "cwd must be inside the project, the card's worktree or its attached worktree."],
  WEBHOOK_TARGET_REFUSED: [400, 'url must not use a loopback, private or link-local address.'],
  INVALID_BACKUP: [400, 'The file is not a complete backup of a board.'],
  INVALID_IMPORT: [400, 'The file cannot be imported.'],
  SETUP_CODE_REQUIRED: [403, 'setupCode must be the code that the server printed at startup, or that you set.'],
  OIDC_SIGN_IN_UNKNOWN: [
    400,
    'The sign-in was not found. It expired, was already completed, or started in another browser. Sign in again.',
  ],
  APP_UNKNOWN: [400, 'The app is not registered. Remove the board from the app, and add it again.'],
  APP_REQUEST_INVALID: [400, "The app's request is not valid."],
  APP_REQUEST_ENDED: [400, 'The request expired or was already answered. Start again in the app.'],
  INVALID_REDIRECT_URI: [
    400,
    "redirect_uris must be https URLs, http URLs of this machine, or URLs with the app's own scheme.",
  ],
  INVALID_CLIENT: [400, 'client_id is not a registered app.'],
  INVALID_GRANT: [400, 'The code or the refresh token is not valid.'],
  INVALID_TARGET: [400, 'resource must be the URL of this board.'],
  UNSUPPORTED_GRANT_TYPE: [400, 'grant_type must be authorization_code or refresh_token.'],
  UNAUTHENTICATED: [401, 'Sign in first: send Authorization: Bearer <token>.'],
  INVALID_CREDENTIALS: [401, 'The email or the password is wrong.'],
  TOKEN_EXPIRED: [401, 'The token has expired.'],
  AGENT_TOKEN_REQUIRED: [403, 'This route requires an agent token of the card.'],
  FORBIDDEN: [403, "You don't have permission to do this."],
  INSUFFICIENT_PERMISSIONS: [403, 'The API key lacks the permission.'],
  HOST_NOT_ALLOWED: [403, 'The server does not accept this Host header.'],
  ORIGIN_NOT_ALLOWED: [403, 'The server does not accept requests from this Origin.'],
  PATH_OUTSIDE_ROOTS: [403, "path must be in one of the server's project roots."],
  OIDC_REFUSED: [403, 'The identity provider rejected the sign-in.'],
  REGISTRATION_DISABLED: [403, 'Registration is turned off.'],
  NOT_FOUND: [404, 'Route not found.'],
  PROJECT_NOT_FOUND: [404, 'Project not found.'],
  BOARD_NOT_FOUND: [404, 'Board not found.'],
  COLUMN_NOT_FOUND: [404, 'Column not found.'],
  CARD_NOT_FOUND: [404, 'Card not found.'],
  ATTACHMENT_NOT_FOUND: [404, 'Attachment not found.'],
  COMMENT_NOT_FOUND: [404, 'Comment not found.'],
  TEMPLATE_NOT_FOUND: [404, 'Board template not found.'],
  KEY_NOT_FOUND: [404, 'API key not found.'],
  ORGANIZATION_NOT_FOUND: [404, 'Organization not found.'],
  USER_NOT_FOUND: [404, 'User not found.'],
  MEMBER_NOT_FOUND: [404, 'Member not found.'],
  SIGN_IN_NOT_FOUND: [404, 'Sign-in not found.'],
  INVITATION_NOT_FOUND: [404, 'Invitation not found.'],
  AGENT_NOT_FOUND: [404, 'Agent not found.'],
  PROFILE_NOT_FOUND: [404, 'Agent profile not found.'],
  CREDENTIAL_NOT_FOUND: [404, 'Credential not found.'],
  BUDGET_NOT_FOUND: [404, 'Budget not found.'],
  INVITATION_EXPIRED: [409, 'The invitation has expired. Ask for a new link.'],
  OIDC_NOT_CONFIGURED: [409, 'Single sign-on is not configured.'],
  PRE_SESSION_NOT_FOUND: [404, 'Pre-session not found.'],
  SESSION_NOT_FOUND: [404, 'Agent session not found.'],
  PANEL_STATE_NOT_FOUND: [404, 'Panel state not found.'],
  MONITOR_NOT_FOUND: [404, 'Monitor not found.'],
  SCHEDULE_NOT_FOUND: [404, 'Schedule not found.'],
  GATE_NOT_FOUND: [404, 'Gate not found.'],
  PROOF_NOT_FOUND: [404, 'Proof not found.'],
  LANDING_NOT_FOUND: [404, 'Entry of the landing queue not found.'],
  SCRIPT_NOT_FOUND: [404, 'Script not found.'],
  PULL_REQUEST_NOT_FOUND: [404, 'The card has no pull request.'],
  REVIEW_NOT_FOUND: [404, 'Review not found.'],
  REVIEW_COMMENT_NOT_FOUND: [404, 'Review comment not found.'],
  WEBHOOK_NOT_FOUND: [404, 'Webhook not found.'],
  DELIVERY_NOT_FOUND: [404, 'Delivery not found.'],
  BACKUP_NOT_FOUND: [404, 'Backup not found.'],
  FILE_NOT_FOUND: [404, 'File or folder not found.'],
  METHOD_NOT_ALLOWED: [405, 'This path does not support this method.'],
  REQUEST_TIMEOUT: [408, 'The request took too long to arrive.'],
  CONFLICT: [409, 'The request conflicts with the current state.'],
  SETUP_ALREADY_DONE: [409, 'The first user already exists.'],
  ADDRESS_UNVERIFIED: [
    409,
    'The address of this account is not verified. The user must sign in with single sign-on, or a server administrator must confirm the address with "board users edit <email> --address-verified".',
  ],
  EMAIL_TAKEN: [409, 'An account with this email address already exists.'],
  CANNOT_DELETE_SELF: [409, 'You cannot delete your own account.'],
  LAST_SUPER_ADMIN: [409, 'The last super_admin cannot be deleted or demoted.'],
  NOT_LOCAL_AUTH: [409, 'The account signs in through the identity provider, and has no password on this server.'],
  LAST_ORGANIZATION_ADMIN: [409, 'An organization must have at least one admin.'],
  SEALED_WITH_OTHER_KEY: [
    409,
    'The secret was encrypted with another key. Start the server with that key, or enter the secret again.',
  ],
  ORGANIZATION_HAS_PROJECTS: [409, 'The organization still has projects.'],
  COLUMN_NOT_EMPTY: [409, 'The column has cards. Move or delete them first.'],
  LAST_BOARD: [409, 'The last board of a project cannot be deleted.'],
  WORKTREE_DIRTY: [409, 'The worktree has unsaved work. With force, it is deleted, and the work is saved as a patch.'],
  AGENT_ALREADY_RUNNING: [409, 'An agent is already running on the card.'],
  NOTHING_TO_APPROVE: [409, 'There is nothing to approve.'],
  MERGE_CONFLICT: [409, 'The merge has conflicts. Nothing was changed.'],
  PULL_REQUEST_EXISTS: [409, 'The card already has an open pull request in this repository.'],
  PULL_REQUEST_NOT_READY: [409, 'The pull request cannot be merged yet.'],
  FORGE_NOT_CONFIGURED: [409, 'The project has no forge, or the forge has no credential.'],
  FORGE_REFUSED: [409, 'The forge rejected the request.'],
  PUSH_REJECTED: [
    409,
    "The remote branch has commits that are not in the card's branch. Review them first. With force, the push replaces the last fetched version of the branch.",
  ],
  AGENT_NOT_RUNNING: [409, 'No agent is running on the card.'],
  CARD_BLOCKED: [409, 'The card is blocked by other cards. Use force to start it anyway.'],
  CARD_BLOCKS_OTHERS: [
    409,
    'The card blocks other cards. With force, it is deleted, and they stay blocked until you remove this blocker.',
  ],
  DEPENDENCY_CYCLE: [409, 'The card would block itself.'],
  GATE_NOT_PASSED: [409, 'The card has not passed its gates.'],
  COLUMN_FULL: [409, 'The column is full. Use force to move the card into it anyway.'],
  BUDGET_EXHAUSTED: [409, 'A budget is exhausted.'],
  CARD_LIMIT_REACHED: [409, 'The session has created the maximum number of cards that its project allows.'],
  CARD_NOT_DEFERRED: [409, 'The card is not deferred.'],
  COLUMN_NOT_ON_DEFAULT_BOARD: [409, "columnId must be a column of the project's default board."],
  COLUMN_IN_OTHER_PROJECT: [409, 'The column belongs to another project.'],
  MONITOR_LIMIT_REACHED: [409, 'A card can have at most 8 monitors.'],
  MONITOR_CARD_INACTIVE: [409, 'The card is not active: it is archived, deleted, or outside an active column.'],
  MONITOR_TERMINAL_CARD_UNSUPPORTED: [409, 'Terminal cards cannot have monitors.'],
  SCRIPT_ALREADY_RUNNING: [409, 'The script is already running.'],
  SCRIPT_NOT_RUNNING: [409, 'The script is not running.'],
  BACKUP_EXISTS: [409, 'A backup with this name already exists.'],
  IDEMPOTENCY_KEY_REUSED: [409, 'This Idempotency-Key was used with another request.'],
  SERVER_ALREADY_RUNNING: [409, 'Another server uses this data folder.'],
  NOT_A_GIT_REPOSITORY: [409, "The project's folder is not a Git repository."],
  VERSION_CONFLICT: [412, 'The card has changed since that version.'],
  BODY_TOO_LARGE: [413, 'The body is too large.'],
  UNSUPPORTED_MEDIA_TYPE: [415, 'The body must be application/json.'],
  RANGE_NOT_SATISFIABLE: [416, 'The file does not have this range of bytes.'],
  EXPECTATION_FAILED: [417, 'The Expect header supports only 100-continue.'],
  RATE_LIMITED: [429, 'Too many requests. Try again later.'],
  HEADERS_TOO_LARGE: [431, 'The request line and headers must not exceed 16 KiB.'],
  INTERNAL: [500, "Internal server error. The server's log has the details."],
  DATABASE_BUSY: [503, 'The database is busy. Try again.'],
  DATABASE_DAMAGED: [503, 'The database file is damaged. The server rejects writes until a backup is restored.'],
  DISK_FULL: [503, 'The disk is full. Nothing was changed.'],
  FORGE_UNAVAILABLE: [503, 'The forge cannot be reached. Try again later.'],
  PROVIDER_UNAVAILABLE: [503, 'The provider cannot be reached. Try again later.'],
  MACHINE_UNAVAILABLE: [503, "No server is running on the machine that has the project's folder."],
  AGENT_UNAVAILABLE: [503, 'The agent cannot be started.'],
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

/** Throws a Problem in an expression: `row ?? refuse('CARD_NOT_FOUND')`. @throws Problem */
export function refuse(code: ErrorCode, message?: string): never {
  throw new Problem(code, message)
}

/** A VALIDATION_FAILED for one field. */
export const invalid = (path: string, message: string): Problem =>
  new Problem('VALIDATION_FAILED', `${path} ${message}`, { details: [{ path, message }] })
