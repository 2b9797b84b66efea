/** What happened to users and their access, and to workers. */
type AccessEventType =
  | 'user.added'
  | 'user.changed'
  | 'user.removed'
  | 'token.created'
  | 'token.revoked'
  | 'token.used'
  | 'token.refused'
  | 'session.started'
  | 'session.ended'
  | 'session.refused'
  | 'operation.denied'
  | 'worker.drained'
  | 'worker.resumed';

/** A line of the access log. */
export interface AccessEvent {
  /** ISO 8601 */
  at: string;
  type: AccessEventType;
  /** Whom it concerns; absent if a request named no known token. */
  user?: string | undefined;
  /** Id of the token. */
  token?: string | undefined;
  /** The id of the worker. */
  worker?: string | undefined;
  /** The user who changed users, tokens or workers. */
  by?: string | undefined;
  /** The operation that was denied. */
  operation?: string | undefined;
  /** The address of the client. */
  from?: string | undefined;
  reason?: string | undefined;
  /** So many further denials of the same kind within a minute: this line stands for them. */
  count?: number | undefined;
}
