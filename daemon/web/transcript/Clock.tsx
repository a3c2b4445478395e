import { dated } from '../ui/Time.tsx'

/** The time of day of a message. */
export const Clock = ({ at }: { at: string }) => (
  <time dateTime={at} title={dated(at, 'second')}>
    {dated(at, 'clock')}
  </time>
)
