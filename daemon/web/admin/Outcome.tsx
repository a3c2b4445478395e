/** The result of testing a setting. */
export interface Tested {
  ok: boolean
  text: string
}

/** Says how a test came out, once there was one. */
export const Outcome = ({ of }: { of: Tested | undefined }) =>
  of && (
    <p className={of.ok ? 'notice' : 'notice failure'} role="status">
      {of.text}
    </p>
  )
