/**
 * The index of comments and messages in one full-text table: a comment has its ID as row ID, and the last message of a
 * card's agent has this number plus the card's ID, which is negative. In descending order, the newest comments come first.
 */
export const firstMessageRow = -(2 ** 52)
