/** How an agent that has its own sandbox works inside the board's sandbox, where its own sandbox fails. */
export interface SandboxOverride {
  /**
   * The variable that points to the board's wrapper for the agent's program. If the account sets this variable, the agent cannot
   * run in the board's sandbox.
   */
  wrapper: string
  /** Variables for the wrapper inside the sandbox. */
  env: Readonly<Record<string, string>>
  /** The mode without the agent's own sandbox, and the modes that it replaces. Other modes are unchanged. */
  mode: string
  replaced: readonly string[]
  /** The mode in which the agent changes nothing. There, the board's sandbox enforces read-only access. */
  readOnlyMode: string
}

/**
 * A permission profile that allows everything needs no sandbox and still asks the user. Codex's own full-access mode does not
 * ask.
 */
export const codexSandboxSettings = [
  'default_permissions="board"',
  'permissions={board={description="Within the sandbox of the board",filesystem={":root"="write"},network={enabled=true}}}',
]
export const codexSandboxOverride: SandboxOverride = {
  wrapper: 'CODEX_PATH',
  env: { BOARD_CODEX_SANDBOXED: '1' },
  mode: 'permission-profile:board',
  replaced: ['workspace-write', 'agent', 'auto', 'read-only'],
  readOnlyMode: 'read-only',
}
