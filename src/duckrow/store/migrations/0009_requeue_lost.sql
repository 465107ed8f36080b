-- A job whose attempt is lost, as by a restart of the machine, may go back into the queue.

ALTER TABLE jobs ADD COLUMN requeue_lost INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN losses INTEGER NOT NULL DEFAULT 0; -- attempts in a row that were lost
